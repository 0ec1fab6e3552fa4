/* SPDX-License-Identifier: Apache-2.0 */
/* execve between programs of 64 and of 32 bits, in both directions: one call each, though it ends in another interface than it
 * began in. The program of 32 bits is made here. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "session.h"

#define AT	    0x08048000u
#define COMPAT	    2 /* calls of the program below that succeed: getpid, execve */
#define NO_COMPAT   77
#define TARGET	    "/bin/true"
#define PLACE(what) (AT + (uint32_t)offsetof(struct image, what))

/* getpid(); execve(TARGET, argv, NULL); exit(9) */
struct image {
	Elf32_Ehdr head;
	Elf32_Phdr load;
	uint8_t code[48];
	uint32_t argv[2];
	char target[16];
} __attribute__((packed));

static size_t put(uint8_t *code, size_t at, uint8_t instruction, uint32_t value)
{
	code[at] = instruction;
	memcpy(code + at + 1, &value, sizeof(value));
	return at + 5;
}

/* mov $nr, %eax; mov $a, %ebx; mov $b, %ecx; mov $0, %edx; int $0x80 */
static size_t put_call(uint8_t *code, size_t at, uint32_t nr, uint32_t a, uint32_t b)
{
	at = put(code, at, 0xb8, nr);
	at = put(code, at, 0xbb, a);
	if (b) {
		at = put(code, at, 0xb9, b);
		at = put(code, at, 0xba, 0);
	}
	code[at++] = 0xcd;
	code[at++] = 0x80;
	return at;
}

static void make_program(const char *path)
{
	struct image m = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_EXEC,
			 .e_machine = EM_386,
			 .e_version = EV_CURRENT,
			 .e_entry = PLACE(code),
			 .e_phoff = offsetof(struct image, load),
			 .e_ehsize = sizeof(Elf32_Ehdr),
			 .e_phentsize = sizeof(Elf32_Phdr),
			 .e_phnum = 1},
		.load = {.p_type = PT_LOAD,
			 .p_vaddr = AT,
			 .p_paddr = AT,
			 .p_filesz = sizeof(struct image),
			 .p_memsz = sizeof(struct image),
			 .p_flags = PF_R | PF_X,
			 .p_align = 0x1000},
		.argv = {PLACE(target)},
		.target = TARGET,
	};
	size_t at = put_call(m.code, 0, 20, 0, 0);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

	at = put_call(m.code, at, 11, PLACE(target), PLACE(argv));
	at = put_call(m.code, at, 1, 9, 0);
	assert_true(at <= sizeof(m.code));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &m, sizeof(m)), sizeof(m));
	assert_int_equal(close(fd), 0);
}

static int executes(void *arg)
{
	char *argv[] = {arg, NULL};

	execve(arg, argv, argv + 1);
	return errno == ENOEXEC ? NO_COMPAT : 1;
}

static void test_exec(void **state)
{
	struct select select = {.pid_count = 1};
	struct session s = {0};
	char path[64];
	size_t row = 0;
	int status, pid;

	snprintf(path, sizeof(path), "/tmp/weir-32-%d", getpid());
	unlink(path);
	make_program(path);
	pid = select.pids[0] = session_child(&s, executes, path);
	session_start(&s, &select, (struct ebpf_options){0});
	session_go(&s, 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	session_end(&s);
	unlink(path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_COMPAT) {
		session_free(&s);
		print_message("skipped: this kernel runs no programs of 32 bits\n");
		skip();
	}
	assert_int_equal(status, 0);
	/* The one that began in 64 bits is a row; the one that began in 32 is counted, as getpid is, and is nothing else. */
	assert_int_equal(session_count(&s, "execve", 0, &row), 1);
	assert_int_equal(session_op(&s, row, OP_RET), 0);
	assert_string_equal(session_path(&s, row, OP_FILE_ID), path);
	assert_int_equal(session_count(&s, "exit_group", pid, NULL), 1);
	for (size_t i = 0; i < s.rows.tables[TABLE_OP]->rows; i++)
		assert_false(MAX(session_op(&s, i, OP_STATUS), 0) & STATUS_DENIED);
	assert_int_equal(s.stats.compat, COMPAT);
	assert_int_equal(s.stats.lost, COMPAT);
	assert_true(s.stats.sequence_proved);
	session_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exec),
	};

	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		return 77;
	}
#ifndef __x86_64__
	print_message("skipped: programs of 32 bits are those of x86\n");
	return 77;
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
