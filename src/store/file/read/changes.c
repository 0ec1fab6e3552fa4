/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes.c: what happens to the files of traces while they are read. A file that changed in place is compared with a
 * fresh open of it, and its blocks are verified again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "store/file/read/reader.h"

/* ---- where the file is ---- */

const char *store_file_change_word(size_t i, unsigned int *ret_what)
{
	static const struct {
		unsigned int what;
		const char *word;
	} words[] = {
		{STORE_FILE_DELETED, "deleted"},
		{STORE_FILE_MOVED, "moved"},
		{STORE_FILE_REPLACED, "replaced"},
		{STORE_FILE_CUT, "cut"},
	};

	if (i >= ARRAY_SIZE(words))
		return NULL;
	*ret_what = words[i].what;
	return words[i].word;
}

static unsigned int changes_of(const struct trace *t)
{
	struct store_place place;
	unsigned int what;
	struct stat st;

	store_fd_place(t->fd, t->path, &place);
	what = place.fate == STORE_KEPT	     ? 0
	       : place.fate == STORE_DELETED ? STORE_FILE_DELETED
	       : place.replaced		     ? 0
					     : STORE_FILE_MOVED;
	what |= place.replaced ? STORE_FILE_REPLACED : 0;
	if (fstat(t->fd, &st) == 0 && (uint64_t)st.st_size < t->next)
		what |= STORE_FILE_CUT;
	return what;
}

void store_file_changes(const struct store *s, struct store_file_changes *ret)
{
	*ret = (struct store_file_changes){0};
	for (size_t i = 0; i < s->trace_count; i++) {
		unsigned int what = changes_of(&s->traces[i]);

		if (!what)
			continue;
		if (!ret->traces++ ||
		    (what & ~STORE_FILE_CUT && !(ret->path_what & ~STORE_FILE_CUT))) {
			ret->path = s->traces[i].path;
			ret->path_what = what;
		}
		ret->what |= what;
	}
}

/* ---- what is in it ---- */

static bool is_same_block(const struct block *a, const struct block *b)
{
	return a->pub.offset == b->pub.offset &&
	       a->view.head->header_len == b->view.head->header_len &&
	       memcmp(a->header, b->header, a->view.head->header_len) == 0;
}

/* Both lists are in file order. Returns the number of missing blocks. */
static size_t mark_missing(struct store *s, const struct trace *t, const struct store *now)
{
	size_t at = 0, count = now ? store_block_count(now) : 0, missing = 0;

	assert(!now || now->trace_count == 1);
	for (size_t i = 0; i < store_block_count(s); i++) {
		struct block *b = reader_block(s, i);

		if (b->pub.trace != t->number)
			continue;
		while (at < count && store_block(now, at)->offset < b->pub.offset)
			at++;
		if (at < count && is_same_block(b, reader_block(now, at)))
			continue;
		reader_block_damaged(s, b, "the file has changed and no longer contains it");
		missing++;
	}
	return missing;
}

/*
 * Goes back to where an unfinished made table began: it was abandoned (store_abandon()), and the next block
 * overwrites it.
 */
static void changes_go_back(struct trace *t, const struct trace *now)
{
	t->next = now->next;
	t->next_seq = now->next_seq;
	t->last_index = now->last_index;
	t->coming = NULL;
}

int changes_recheck(struct store *s, struct trace *t, struct error *err)
{
	_cleanup_(store_freep) struct store *now = NULL;
	struct error why = {0};
	char path[64];
	const char *const paths[] = {path};
	size_t missing;
	int r;

	/* this open file, whatever is under its name by now */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", t->fd);
	r = store_open(&now, paths, 1, &why);
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return error_errno(err, r, "cannot examine %s again", t->path);
	missing = mark_missing(s, t, r < 0 ? NULL : now);
	if (r < 0 || !now->traces[0].ended)
		t->ended = false;
	else if (!missing && t->ended && now->traces[0].next < t->next)
		changes_go_back(t, &now->traces[0]);
	atomic_fetch_add(&t->state, 1);
	return 0;
}
