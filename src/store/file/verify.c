/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file/verify.h"

#include <errno.h>

#include "store/file/reader.h"

/* The state of the block's file to which a verification applies. */
static unsigned int state_of(const struct store *s, const struct block *b)
{
	return atomic_load(&s->traces[b->pub.trace].state);
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

	*ret_why = "it was found damaged before";
	if (b->pub.damaged)
		return -EBADMSG;
	if (atomic_load(&b->verified) == state)
		return 0;
	r = decode_verify(decoder, &src, ret_why);
	if (r == -EBADMSG)
		reader_block_damaged(s, b, *ret_why);
	if (r < 0)
		return r;
	/* of the state before it was read: what changed meanwhile is read again */
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
	r = reader_verify(s, decoder, reader_block(s, pair), ret_why);
	if (r == -EBADMSG)
		*ret_why = "the block that it sums up is damaged";
	return r;
}

int store_verify(struct store *s, size_t trace, bool (*stop)(void *arg), void *arg,
		 struct store_damage *ret)
{
	_cleanup_(decoder_freep) struct decoder *decoder = NULL;
	int r = 0;

	for (size_t i = 0; i < store_block_count(s) && r >= 0; i++) {
		struct block *b = reader_block(s, i);
		const char *why;

		if ((trace != SIZE_MAX && b->pub.trace != trace) || is_verified(s, b))
			continue;
		if (stop && stop(arg))
			return -EINTR;
		if (!decoder && decoder_new(&decoder) < 0)
			return -ENOMEM;
		r = reader_verify(s, decoder, b, &why);
		if (r < 0 && r != -ENOMEM) {
			reader_block_damaged(s, b,
					     why); /* an error of the disk that is not its own */
			r = 0;
		}
	}
	if (r >= 0 && ret)
		store_damage(s, ret);
	return r;
}

uint64_t store_unverified(const struct store *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < store_block_count(s); i++)
		n += !is_verified(s, reader_block(s, i));
	return n;
}
