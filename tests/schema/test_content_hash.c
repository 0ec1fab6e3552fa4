/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_content_hash.c: the hash of content on data that differs as data does: two words of a page changed alike. An avalanche test
 * of the mixing function alone does not see that sums of a weak form cancel out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/content_hash.h"

#define VARIANTS 100000u

static uint64_t page[CONTENT_WORDS];

static uint64_t next_random(uint64_t *state)
{
	return content_mix(*state += CONTENT_STEP);
}

static void fill_page(uint64_t seed)
{
	for (size_t i = 0; i < CONTENT_WORDS; i++)
		page[i] = next_random(&seed);
}

/* The families: what becomes of two words a and b, by a number. */
typedef void family(uint64_t *a, uint64_t *b, uint64_t n);

static void flip_high(uint64_t *a, uint64_t *b, uint64_t n)
{
	uint64_t bit = 1ull << (63 - n % 16);

	*a ^= bit;
	*b ^= bit;
}

static void add_and_take(uint64_t *a, uint64_t *b, uint64_t n)
{
	*a += n + 1;
	*b -= n + 1;
}

static void top_bytes(uint64_t *a, uint64_t *b, uint64_t n)
{
	*a ^= (n % 255 + 1) << 56;
	*b ^= (n / 255 % 255 + 1) << 56;
}

static void swapped(uint64_t *a, uint64_t *b, uint64_t n)
{
	uint64_t was = *a;

	*a = *b;
	*b = was;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Hashes of pages in which two words differ from `page`, less those of pages that are equal. */
static size_t collisions(family *change, uint64_t (*mix)(uint64_t))
{
	struct variant {
		uint64_t hash, a, b, i, j;
	} *all = calloc(VARIANTS, sizeof(*all));
	uint64_t state = 1;
	size_t same = 0;

	assert_non_null(all);
	for (uint32_t n = 0; n < VARIANTS; n++) {
		uint64_t i = next_random(&state) % CONTENT_WORDS,
			 j = (i + 1 + n % 511) % CONTENT_WORDS;
		struct variant v = {.a = page[i], .b = page[j], .i = i, .j = j};

		change(&v.a, &v.b, n);
		v.hash = mix(v.a ^ content_key((uint32_t)i)) -
			 mix(page[i] ^ content_key((uint32_t)i)) +
			 mix(v.b ^ content_key((uint32_t)j)) -
			 mix(page[j] ^ content_key((uint32_t)j));
		if (v.a == page[i] && v.b == page[j])
			v.hash = ~(uint64_t)n; /* the page itself */
		all[n] = v;
	}
	qsort(all, VARIANTS, sizeof(*all), compare_numbers); /* by hash, which is first */
	for (uint32_t n = 1; n < VARIANTS; n++) {
		const struct variant *x = &all[n - 1], *y = &all[n];
		int equal = (x->i == y->i && x->j == y->j && x->a == y->a && x->b == y->b) ||
			    (x->i == y->j && x->j == y->i && x->a == y->b && x->b == y->a);

		same += x->hash == y->hash && !equal;
	}
	free(all);
	return same;
}

static uint64_t full_form(uint64_t x)
{
	return content_mix(x);
}

/* Multiply, shift, multiply: what the test must be able to find fault with. */
static uint64_t weak_form(uint64_t x)
{
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	return x * 0x94d049bb133111ebull;
}

static void test_families(void **state)
{
	static family *const families[] = {flip_high, add_and_take, top_bytes, swapped};
	size_t weak = 0;

	for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++) {
		fill_page(f + 1000); /* not the keys' own seed */
		assert_int_equal(collisions(families[f], full_form), 0);
		weak += collisions(families[f], weak_form);
	}
	assert_true(weak > 1000);
}

static uint64_t words_of(size_t from, size_t to)
{
	uint64_t hash = 0;

	for (size_t i = from; i < to; i++)
		hash += content_hash_word(page[i], (uint32_t)i);
	return hash;
}

static void test_parts(void **state)
{
	uint64_t whole;

	fill_page(7);
	whole = content_hash_piece(page, sizeof(page));
	for (size_t cut = 0; cut <= CONTENT_WORDS; cut += 17)
		assert_true(words_of(0, cut) + words_of(cut, CONTENT_WORDS) == whole);
	memset(page, 0, sizeof(page));
	assert_true(content_hash_piece(page, sizeof(page)) == 0);
	assert_true(content_hash_bytes(page, sizeof(page)) == 0);
}

static void test_buffers(void **state)
{
	static uint8_t data[5 * CONTENT_PIECE + 3], swapped_pieces[sizeof(data)];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)content_mix(i);
	assert_true(content_hash_bytes(data, CONTENT_PIECE) ==
		    content_hash_piece(data, CONTENT_PIECE));
	memcpy(swapped_pieces, data, sizeof(data));
	memcpy(swapped_pieces + CONTENT_PIECE, data + 2 * CONTENT_PIECE, CONTENT_PIECE);
	memcpy(swapped_pieces + 2 * CONTENT_PIECE, data + CONTENT_PIECE, CONTENT_PIECE);
	assert_true(content_hash_bytes(data, sizeof(data)) !=
		    content_hash_bytes(swapped_pieces, sizeof(data)));
	memset(data, 0, sizeof(data));
	assert_true(content_hash_bytes(data, sizeof(data)) == 0);
}

/* The numbers that the comment at its head refers to: SplitMix64 from the seed 0. */
static void test_source(void **state)
{
	assert_true(content_key(0) == 0xe220a8397b1dcdafull);
	assert_true(content_key(1) == 0x6e789e6aa1b965f4ull);
	assert_true(content_key(2) == 0x06c45d188009454full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
