/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger: a small transactional program whose runs `weir diff` compares. The same arguments give the
 * same calls; how long they take is the machine's.
 *
 *   ledger FOLDER TRANSACTIONS [same|slow|file|once|fsync]
 *
 *   same   each transaction looks up an account (pread64 of accounts.db, of its index, a stat), every
 *          eighth is committed (pwrite64 of ledger.log, fdatasync), every 64th reads its settings anew
 *   slow   pread64 of accounts.db takes about 20 % longer: it reads so much more
 *   file   every 64th transaction appends to a file of its own, audit.log
 *   once   the same, but one record in all
 *   fsync  one more fdatasync for each commit
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ACCOUNT	     16384
#define ACCOUNT_SLOW 20992
#define ACCOUNTS     256
#define ENTRY	     512

enum change { SAME, SLOW, NEW_FILE, ONCE, FSYNC };

static const char *const changes[] = {"same", "slow", "file", "once", "fsync"};

static char buffer[ACCOUNT_SLOW];

static int must(const char *what, long r)
{
	if (r >= 0)
		return (int)r;
	fprintf(stderr, "ledger: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int make(const char *name, size_t size)
{
	int fd = must(name, open(name, O_CREAT | O_TRUNC | O_RDWR, 0644));

	for (size_t done = 0; done < size; done += ACCOUNT)
		must(name, write(fd, buffer, ACCOUNT));
	return fd;
}

static void read_settings(void)
{
	int fd = must("settings", open("settings.conf", O_RDONLY));

	must("settings", read(fd, buffer, 4096));
	close(fd);
}

static void audit(void)
{
	int fd = must("audit", open("audit.log", O_CREAT | O_APPEND | O_WRONLY, 0644));

	must("audit", write(fd, buffer, 64));
	close(fd);
}

/* Work between calls: as much on every run. */
static uint64_t think(uint64_t x)
{
	for (int i = 0; i < 4000; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	return x;
}

static void run(long count, enum change change)
{
	int accounts = make("accounts.db", (ACCOUNTS + 2) * ACCOUNT),
	    index = make("index", ACCOUNT * 16);
	int ledger = make("ledger.log", 0), settings = make("settings.conf", ACCOUNT);
	size_t size = change == SLOW ? ACCOUNT_SLOW : ACCOUNT;
	struct stat st;
	uint64_t x = 1;

	close(settings);
	for (long i = 0; i < count; i++) {
		x = think(x);
		must("index", pread(index, buffer, 4096, (off_t)(x >> 40) % 60 * 4096));
		must("accounts",
		     pread(accounts, buffer, size, (off_t)(x >> 33) % ACCOUNTS * ACCOUNT));
		must("stat", stat("settings.conf", &st));
		if (i % 64 == 0)
			read_settings();
		if (change == NEW_FILE ? i % 64 == 1 : change == ONCE && i == 1)
			audit();
		if (i % 8)
			continue;
		must("ledger", pwrite(ledger, buffer, ENTRY, (i / 8 % 1024) * ENTRY));
		must("sync", fdatasync(ledger));
		if (change == FSYNC)
			must("sync", fdatasync(ledger));
	}
}

int main(int argc, char **argv)
{
	int change = 0;

	while (argc == 4 && change < 5 && strcmp(argv[3], changes[change]))
		change++;
	if (argc < 3 || change == 5) {
		fprintf(stderr, "usage: ledger FOLDER TRANSACTIONS [same|slow|file|once|fsync]\n");
		return 2;
	}
	must(argv[1], chdir(argv[1]));
	run(strtol(argv[2], NULL, 10), (enum change)change);
	return 0;
}
