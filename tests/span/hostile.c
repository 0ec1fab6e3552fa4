/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile.c: publishes memory of spans that lies (hostile WAY SEED), while it makes calls that are to be recorded whatever it
 * does. Prints how many.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "layout.h"

#define SET_VMA	   0x53564d41
#define RING_BYTES ((int)SPAN_RING_LEAST)
#define CALLS	   200

static uint64_t state;
static int last_fd;

static uint64_t chance(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return state >> 16;
}

/* A file that has the name of a memfd in /proc/PID/maps: of a mount that is in no tree. */
static int file_new(void)
{
	char dir[] = "/tmp/span_hostileXXXXXX", path[64];
	int fd;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    !mkdtemp(dir) || mount("none", dir, "tmpfs", 0, NULL))
		exit(2);
	snprintf(path, sizeof(path), "%s/memfd:%s x", dir, SPAN_MEMFD);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	return fd;
}

static struct span_control *memory_new(const char *way)
{
	size_t size = span_ring_at(SPAN_NAME_BYTES, RING_BYTES, SPAN_RING_MAX);
	bool file = !strcmp(way, "file");
	int fd = file ? file_new() : memfd_create(SPAN_MEMFD, MFD_ALLOW_SEALING);
	struct span_control *c;

	if (fd < 0 || ftruncate(fd, (off_t)size))
		exit(2);
	if (!file && strcmp(way, "unsealed") != 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		exit(2);
	c = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c == MAP_FAILED)
		exit(2);
	*c = (struct span_control){.magic = SPAN_MAGIC,
				   .version = !strcmp(way, "version") ? 77 : SPAN_VERSION,
				   .pid = getpid(),
				   .clock = SPAN_CLOCK_TSC,
				   .ring_max = !strcmp(way, "layout") ? 1u << 31 : SPAN_RING_MAX,
				   .ring_bytes = RING_BYTES,
				   .name_bytes = SPAN_NAME_BYTES,
				   .on = SPAN_EARLY};
	memset(c->service, 'x', sizeof(c->service)); /* no NUL */
	last_fd = fd;
	return c;
}

static void announce(struct span_control *c)
{
	prctl(SET_VMA, 0, c, 4096, SPAN_MEMFD);
}

static bool wait_on(const struct span_control *c, int ms)
{
	for (int i = 0; i < ms && *(const volatile uint32_t *)&c->on != SPAN_ON; i++)
		usleep(1000);
	return c->on == SPAN_ON;
}

static uint8_t *publish(const char *way)
{
	struct span_control *c = memory_new(way), *other;
	int ons = 0;

	announce(c);
	wait_on(c, 300);
	if (!strcmp(way, "unsealed") && ftruncate(last_fd, 4096))
		exit(2);
	if (!strcmp(way,
		    "often")) { /* the last of many announcements is not that of the memory to be found */
		for (int i = 0; i < 500; i++)
			announce(c);
		other = memory_new(way);
		announce(other);
		announce(c);
		if (!wait_on(other, 10000))
			exit(3);
	}
	if (!strcmp(way, "many")) {
		for (int i = 0; i < 40; i++) {
			other = memory_new(way);
			announce(other);
			ons += wait_on(other, 10);
		}
		if (ons >= 8) /* of one process, the first one included */
			exit(4);
	}
	return (uint8_t *)c;
}

/* A record whose size is right and whose rest is chance. */
static void record_put(uint8_t *at, uint16_t size)
{
	struct span_head *h = (struct span_head *)at;

	for (uint16_t i = 0; i < size; i += 8)
		*(uint64_t *)(at + i) = chance() >> (chance() % 64);
	h->size = size;
	h->type = (uint8_t)(chance() % (SPAN_TYPES + 1));
	h->name = chance() % 4 ? 0 : (uint32_t)chance();
	if (chance() % 2 && h->type == SPAN_NOTE) {
		((struct span_note *)at)->key_len = (uint16_t)(chance() % 20);
		((struct span_note *)at)->value_len = (uint16_t)(chance() % 20);
	}
}

static void attack(uint8_t *memory, const char *way)
{
	struct span_control *c = (struct span_control *)memory;
	struct span_ring *ring;
	uint8_t *data;
	uint16_t size;

	c->rings = !strcmp(way, "rings") ? UINT32_MAX : SPAN_RING_MAX;
	ring = (struct span_ring *)(memory + span_ring_at(SPAN_NAME_BYTES, RING_BYTES,
							  (uint32_t)(chance() % SPAN_RING_MAX)));
	data = (uint8_t *)ring + SPAN_PAGE;
	if (!strcmp(way, "back"))
		ring->head = ring->head ? 0 : 64;
	else if (!strcmp(way, "far"))
		ring->head = chance() << 3;
	else if (!strcmp(way, "crooked"))
		ring->head += 13;
	else if (!strcmp(way, "noise")) {
		for (int i = 0; i < RING_BYTES / 8; i++)
			((uint64_t *)data)[i] = chance();
		ring->head += (chance() % RING_BYTES) & ~7ull;
	} else {
		size = (uint16_t)(16 + (chance() % 30) * 8);
		if ((ring->head & (RING_BYTES - 1)) + size > (uint64_t)RING_BYTES)
			return;
		record_put(data + (ring->head & (RING_BYTES - 1)), size);
		ring->head += size;
		ring->lost_notes = chance();
		((uint64_t *)(memory + SPAN_PAGE))[chance() % (SPAN_NAME_BYTES / 8)] = chance();
	}
}

int main(int argc, char **argv)
{
	const char *way = argc > 2 ? argv[1] : "records";
	int file = open("/dev/zero", O_RDONLY);
	uint8_t *memory;
	char byte;

	state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	memory = publish(way);
	for (int i = 0; i < CALLS; i++) {
		for (int n = 0; n < 20 && strcmp(way, "unsealed") != 0; n++)
			attack(memory, way);
		if (pread(file, &byte, 1, 1000000 + i) != 1)
			return 1;
		usleep(500);
	}
	printf("%d\n", CALLS);
	return 0;
}
