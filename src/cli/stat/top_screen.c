/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stat/top_screen.h"

#include <curses.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "cli/terminal/format.h"
#include "privilege/privilege.h"

#define HEAD_LINES   3
#define DISKS_SHOWN  4
#define FOOT_LINES   2
#define LINES_MIN    8
#define COLUMNS_MIN  80
#define CAUSES_SHOWN 3 /* causes of missing calls to show */
#define KEY_ESCAPE   27
#define KEY_DELETE   127

static SCREEN *screen;

int top_screen_open(struct error *err)
{
	static const char *const folders[] = {"TERMINFO", "TERMINFO_DIRS", "TERMCAP", "TERMPATH",
					      "HOME"};
	const char *term = getenv("TERM");

	/* ncurses parses the files that these name: with file capabilities, only the system may choose them. */
	for (size_t i = 0; privilege_secure() && i < ARRAY_SIZE(folders); i++)
		unsetenv(folders[i]);
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return error_set(err, -ENOTTY,
				 "unknown terminal type '%s' (TERM); `weir stat "
				 "--every 1s` prints "
				 "the same figures line by line",
				 term ? term : "");
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	return 0;
}

void top_screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

/* ---- keys ---- */

static void top_screen_choose(struct top_view *v, enum stat_table_by by)
{
	v->figures.by = by;
	v->selected = 0;
}

/* Descends into the selected line: only its calls, by the next grouping. */
static void top_screen_enter(struct top_view *v)
{
	static const enum stat_table_by next[] = {
		[FIGURES_OP] = FIGURES_FILE,	 [FIGURES_PROCESS] = FIGURES_FILE,
		[FIGURES_THREAD] = FIGURES_FILE, [FIGURES_FILE] = FIGURES_PROCESS,
		[FIGURES_ERROR] = FIGURES_OP,
	};
	enum stat_table_by by = v->figures.by;

	if (!v->lines || v->depth == TOP_DEPTH_MAX || v->figures.only[by] >= 0 ||
	    v->selected_key < 0)
		return;
	v->figures.only[by] = v->selected_key;
	memcpy(v->path_label[v->depth], v->selected_label, sizeof(v->path_label[0]));
	v->path[v->depth++] = by;
	by = next[by];
	if (v->figures.only[by] >= 0)
		by = FIGURES_OP;
	top_screen_choose(v, by);
	v->filter[0] = '\0';
}

static void leave(struct top_view *v)
{
	if (!v->depth)
		return;
	v->depth--;
	v->figures.only[v->path[v->depth]] = -1;
	top_screen_choose(v, v->path[v->depth]);
}

static void type(struct top_view *v, int key)
{
	size_t len = strlen(v->filter);

	if (key == '\n' || key == KEY_ENTER) {
		v->typing = false;
	} else if (key == KEY_ESCAPE) {
		v->typing = false;
		v->filter[0] = '\0';
	} else if ((key == KEY_BACKSPACE || key == KEY_DELETE || key == '\b') && len) {
		v->filter[len - 1] = '\0';
	} else if (key >= ' ' && key < KEY_DELETE && len + 1 < sizeof(v->filter)) {
		v->filter[len] = (char)key;
		v->filter[len + 1] = '\0';
	}
	v->selected = 0;
}

static bool set_grouping(struct top_view *v, int key)
{
	static const char keys[] = "optfe"; /* enum figures_by */
	const char *p = strchr(keys, key);

	if (!p || !*p)
		return false;
	top_screen_choose(v, (enum stat_table_by)(p - keys));
	return true;
}

static bool set_order(struct top_view *v, int key)
{
	static const char keys[] = "TcbxmRWP"; /* enum figures_sort */
	const char *p = strchr(keys, key);

	if (!p || !*p)
		return false;
	v->figures.sort = (enum stat_table_sort)(p - keys);
	return true;
}

static enum top_wish press(struct top_view *v, int key)
{
	if (v->typing) {
		type(v, key);
		return TOP_REDRAW;
	}
	if (key < 128 && (set_grouping(v, key) || set_order(v, key)))
		return TOP_REDRAW;
	switch (key) {
	case 'q':
	case 'Q':
		return TOP_LEAVE;
	case 'r':
		return TOP_FORGET;
	case '\n':
	case KEY_ENTER:
		top_screen_enter(v);
		break;
	case KEY_BACKSPACE:
	case KEY_DELETE:
	case '\b':
		leave(v);
		break;
	case '/':
		v->typing = true;
		break;
	case KEY_ESCAPE:
		v->filter[0] = '\0';
		v->help = false;
		break;
	case ' ':
		v->paused = !v->paused;
		break;
	case 'i':
		v->show_total = !v->show_total;
		break;
	case '?':
	case 'h':
		v->help = !v->help;
		break;
	case KEY_UP:
		v->selected -= v->selected > 0;
		break;
	case KEY_DOWN:
		v->selected++;
		break;
	default:
		break;
	}
	return TOP_REDRAW;
}

enum top_wish top_screen_keys(struct top_view *v)
{
	enum top_wish wish = TOP_NOTHING;
	int key;

	while ((key = getch()) != ERR)
		wish = MAX(wish, press(v, key));
	return wish;
}

/* ---- drawing ---- */

static void top_screen_put(int y, const char *text, attr_t attributes)
{
	_cleanup_buf_ struct buf cut = {0};

	if (y < 0 || y >= LINES || format_pad(&cut, text, (size_t)COLS, false) < 0)
		return;
	attrset(attributes);
	mvaddstr(y, 0, buf_str(&cut));
	clrtoeol();
	attrset(A_NORMAL);
}

static int draw_head(const struct top_view *v, const struct stat_table *f)
{
	_cleanup_buf_ struct buf b = {0};
	bool all = v->show_total || v->fell_back;
	int64_t span = all ? v->total_ns : v->interval_ns;
	uint64_t moved = f->bytes + f->waiting.bytes;
	int r;

	buf_printf(&b, "weir top  ");
	format_safe(&b, v->what, strnlen(v->what, 60));
	if (v->fell_back)
		buf_printf(&b, "   nothing here in the last %.1f s:",
			   (double)v->interval_ns / NSEC_PER_SEC);
	buf_printf(&b, "   %s %.1f s%s   lost %s%s", all ? "all of" : "last",
		   (double)span / NSEC_PER_SEC, v->paused ? "   PAUSED" : "",
		   format_count(v->loss.lost).s, v->loss.at_least ? "+ " : " ");
	if (loss_of_calls(&v->loss))
		loss_put_causes(&b, &v->loss, false, CAUSES_SHOWN);
	if (v->loss.unclosed.traces)
		buf_printf(&b, " (not closed)");
	if (v->loss.changes.traces) {
		buf_printf(&b, "  ");
		loss_put_changes(&b, &v->loss);
	}
	r = buf_status(&b);
	if (r < 0)
		return r;
	top_screen_put(0, buf_str(&b), A_BOLD);
	buf_clear(&b);
	r = buf_printf(&b, "%s calls (%s), errors %s   %s (%s)   %s in I/O",
		       format_count(f->calls).s, format_rate(f->calls, span, false).s,
		       format_count(f->errors).s, format_size(moved).s,
		       format_rate(moved, span, true).s, format_dur((int64_t)f->time_ns).s);
	if (r < 0)
		return r;
	top_screen_put(1, buf_str(&b), A_NORMAL);
	buf_clear(&b);
	r = buf_printf(&b, "not I/O %s calls, %s   waiting %s calls, %s  %s",
		       format_count(f->other.calls).s, format_dur((int64_t)f->other.time_ns).s,
		       format_count(f->waiting.calls).s, format_dur((int64_t)f->waiting.time_ns).s,
		       f->waiting.kinds);
	if (r < 0)
		return r;
	top_screen_put(2, buf_str(&b), A_DIM);
	return 0;
}

/* Lines for the disks, including titles and an empty line. */
static int disk_lines(const struct top_view *v)
{
	int most = MIN(DISKS_SHOWN, (LINES - HEAD_LINES - FOOT_LINES) / 3);

	return v->disks && v->disks->count && most > 0 ? MIN(most, (int)v->disks->count) + 2 : 0;
}

static int draw_disks(const struct top_view *v)
{
	int64_t span = v->show_total ? v->total_ns : v->interval_ns;
	int lines = disk_lines(v), y = HEAD_LINES, r;
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *out = lines ? open_memstream(&text, &len) : NULL;

	if (!out)
		return lines ? -ENOMEM : 0;
	r = top_disks_print(out, v->disks, span, (size_t)lines - 2, (size_t)COLS);
	fclose(out);
	for (char *line = text, *end; r >= 0 && (end = strchr(line, '\n')); line = end + 1, y++) {
		*end = '\0';
		top_screen_put(y, line, y == HEAD_LINES ? A_BOLD | A_UNDERLINE : A_NORMAL);
	}
	return r;
}

static int draw_foot(const struct top_view *v)
{
	_cleanup_buf_ struct buf b = {0};
	int r;

	buf_printf(&b, "by %s, sorted by %s", stat_table_by_word(v->figures.by),
		   stat_table_sort_word(v->figures.sort));
	for (size_t i = 0; i < v->depth; i++)
		buf_printf(&b, "   %s: %s", stat_table_by_word(v->path[i]), v->path_label[i]);
	if (v->typing || v->filter[0])
		buf_printf(&b, "   /%s%s", v->filter, v->typing ? "_" : "");
	r = buf_status(&b);
	if (r < 0)
		return r;
	top_screen_put(LINES - 2, buf_str(&b), A_DIM);
	top_screen_put(
		LINES - 1,
		"optfe group  TcbxmRWP sort  Enter into  Bksp out  / filter  i all/last  ? help "
		"q",
		A_REVERSE);
	return 0;
}

static void draw_help(void)
{
	static const char *const lines[] = {
		"o p t f e   group by operation, process, thread, file, error",
		"T c b x m   sort by time, calls, bytes, errors, longest call",
		"R W P       sort by bytes read, bytes written, 99th percentile",
		"up down     select a line",
		"Enter       open that line: the files of a process, the processes of a file; "
		"Backspace goes back",
		"/ text      only lines that contain the text; Esc shows all again",
		"i           the last interval, or everything since the start",
		"r           reset           space  pause      q  quit",
		"",
		"I/O % is the part of the time that was spent between enter and exit of I/O calls, "
		"of all threads together",
		"lost counts calls that could not be recorded: if it is not 0 the figures are too "
		"low",
		"disks are shown with --with block: load is the average number of requests in "
		"flight",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		top_screen_put(HEAD_LINES + 1 + (int)i, lines[i], A_NORMAL);
}

/* Draws the lines of the table, the first of which has the titles. */
static void top_screen_put_lines(const struct top_view *v, char *text)
{
	int top = HEAD_LINES + disk_lines(v), y = top;

	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, y++) {
		*end = '\0';
		top_screen_put(y, line,
			       y == top				 ? A_BOLD | A_UNDERLINE
			       : y == top + 1 + (int)v->selected ? A_REVERSE
								 : A_NORMAL);
	}
}

static int draw_table(struct top_view *v, const struct stat_table *f)
{
	size_t room = (size_t)(LINES - HEAD_LINES - disk_lines(v) - FOOT_LINES - 1), len = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);
	int r;

	v->lines = MIN(room, f->count);
	v->selected = v->lines ? MIN(v->selected, v->lines - 1) : 0;
	if (!out)
		return -ENOMEM;
	r = top_table_print(out, f, v->figures.by, v->lines, (size_t)COLS,
			    v->show_total || v->fell_back ? v->total_ns : v->interval_ns);
	fclose(out);
	if (r >= 0)
		top_screen_put_lines(v, text);
	free(text);
	v->selected_key = v->lines ? f->items[v->selected].key : -1;
	snprintf(v->selected_label, sizeof(v->selected_label), "%s",
		 v->lines ? f->items[v->selected].label : "");
	return r;
}

int top_screen_draw(struct top_view *v, const struct rollup *r)
{
	_cleanup_figures_ struct stat_table f = {0};
	int ret;

	erase();
	if (LINES < LINES_MIN || COLS < COLUMNS_MIN) {
		top_screen_put(0, "weir top needs 80 columns and 8 lines", A_BOLD);
		refresh();
		return 0;
	}
	v->figures.text = v->filter[0] ? v->filter : NULL;
	ret = stat_table_make(&f, r, v->dims, v->file_lines, &v->figures);
	v->fell_back = false;
	if (ret >= 0 && !f.count && v->depth && v->total && r != v->total) {
		/* the selection had no calls in the interval: show its calls since the start */
		stat_table_free(&f);
		ret = stat_table_make(&f, v->total, v->dims, v->file_lines, &v->figures);
		v->fell_back = f.count > 0;
	}
	if (ret >= 0)
		ret = draw_head(v, &f);
	if (ret >= 0 && v->help)
		draw_help();
	else if (ret >= 0)
		ret = draw_disks(v);
	if (ret >= 0 && !v->help)
		ret = draw_table(v, &f);
	if (ret >= 0)
		ret = draw_foot(v);
	refresh();
	return ret;
}
