/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file/read/verify.h"

#include <errno.h>

#include "store/file/read/reader.h"

/* The state of the block's file that a verification covers. */
static unsigned int state_of(const struct store *s, const struct block *b)
{
	return atomic_load(&reader_trace(s, b->pub.trace)->state);
}

static bool is_verified(const struct store *s, const struct block *b)
{
	return b->pub.damaged || atomic_load(&b->verified) == state_of(s, b);
}

int reader_verify(struct store *s, struct decoder *decoder, struct block *b, const char **ret_why)
{
	unsigned int state = state_of(s, b);
	struct decode_source src = reader_source(s, b);
	int r;

	assert(state); /* 0: not verified */
	*ret_why = "it was already found damaged";
	if (b->pub.damaged)
		return -EBADMSG;
	if (atomic_load(&b->verified) == state)
		return 0;
	r = decode_verify(decoder, &src, ret_why);
	if (r == -EBADMSG)
		reader_block_damaged(s, b, *ret_why);
	if (r < 0)
		return r;
	/* the state from before the read: anything that changed meanwhile is read again */
	atomic_store(&b->verified, state);
	return 0;
}

int reader_verify_for_use(struct store *s, struct decoder *decoder, struct block *b,
			  const char **ret_why)
{
	size_t pair = b->pub.table == TABLE_SUMMARY ? atomic_load(&b->pub.pair) : SIZE_MAX;
	int r = reader_verify(s, decoder, b, ret_why);

	if (r < 0 || pair == SIZE_MAX)
		return r;
	assert(store_block(s, pair)->table == TABLE_OP);
	r = reader_verify(s, decoder, reader_block(s, pair), ret_why);
	if (r == -EBADMSG)
		*ret_why = "the block that it summarizes is damaged";
	return r;
}

/* Walks all blocks: those of rows, then the parts of digests. Starts as {0}. */
struct verify_walk {
	size_t block;
	const struct digest *digest;
	bool digests, files; /* files: the part by file comes next */
};

static struct block *verify_next(const struct store *s, struct verify_walk *w)
{
	struct block *b;

	if (w->block < store_block_count(s))
		return reader_block(s, w->block++);
	if (!w->digests)
		w->digest = atomic_load(&s->digests);
	w->digests = true;
	while (w->digest) {
		b = w->files ? atomic_load(&w->digest->files) : w->digest->times;
		w->digest = w->files ? w->digest->before : w->digest;
		w->files = !w->files;
		if (b)
			return b;
	}
	return NULL;
}

/* Verifies one block, for store_verify(). 0, -ENOMEM. */
static int verify_one(struct store *s, struct decoder **decoder, struct block *b)
{
	const char *why;
	int r;

	if (!*decoder && decoder_new(decoder) < 0)
		return -ENOMEM;
	r = reader_verify(s, *decoder, b, &why);
	if (r < 0 && r != -ENOMEM) {
		reader_block_damaged(s, b, why); /* or a disk error, which was not counted yet */
		r = 0;
	}
	return r;
}

int store_verify(struct store *s, size_t trace, bool (*stop)(void *arg), void *arg,
		 struct store_damage *ret)
{
	_cleanup_(decoder_freep) struct decoder *decoder = NULL;
	struct verify_walk w = {0};
	struct block *b;
	int r = 0;

	assert(trace == SIZE_MAX || trace < s->trace_count);
	while (r >= 0 && (b = verify_next(s, &w))) {
		if ((trace != SIZE_MAX && b->pub.trace != trace) || is_verified(s, b))
			continue;
		if (stop && stop(arg))
			return -EINTR;
		r = verify_one(s, &decoder, b);
	}
	if (r >= 0 && ret)
		store_damage(s, ret);
	return r;
}

uint64_t store_unverified(const struct store *s)
{
	struct verify_walk w = {0};
	struct block *b;
	uint64_t n = 0;

	while ((b = verify_next(s, &w)))
		n += !is_verified(s, b);
	return n;
}
