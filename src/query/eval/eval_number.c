/* SPDX-License-Identifier: Apache-2.0 */
/* eval_number.c: arithmetic and comparisons of single numbers. */
#include <math.h>

#include "base/clock.h"
#include "query/eval/eval_internal.h"

#define SECONDS_PER_HOUR 3600
#define HOURS_PER_DAY	 24

static __int128 wide(int64_t v, bool is_unsigned)
{
	return is_unsigned ? (__int128)(uint64_t)v : (__int128)v;
}

/* False if the number does not fit. */
static bool narrow(__int128 v, bool is_unsigned, int64_t *ret)
{
	if (is_unsigned ? v < 0 || v > UINT64_MAX : v < INT64_MIN || v > INT64_MAX)
		return false;
	*ret = (int64_t)(uint64_t)v;
	return true;
}

int compare_ints(int64_t a, bool a_unsigned, int64_t b, bool b_unsigned)
{
	__int128 x = wide(a, a_unsigned), y = wide(b, b_unsigned);

	return x < y ? -1 : x > y;
}

int compare_int_float(int64_t a, bool a_unsigned, double b)
{
	double down = floor(b);
	__int128 x = wide(a, a_unsigned);

	if (b >= 0x1p64)
		return -1;
	if (b < -0x1p63)
		return 1;
	if (x != (__int128)down)
		return x < (__int128)down ? -1 : 1;
	return b > down ? -1 : 0;
}

double int_to_float(int64_t v, bool is_unsigned)
{
	return is_unsigned ? (double)(uint64_t)v : (double)v;
}

bool arith_int(enum expr_arith op, int64_t a, bool a_unsigned, int64_t b, bool b_unsigned,
	       bool ret_unsigned, int64_t *ret)
{
	__int128 x = wide(a, a_unsigned), y = wide(b, b_unsigned), v;

	assert(op <= ARITH_MOD);
	switch (op) {
	case ARITH_ADD:
		v = x + y;
		break;
	case ARITH_SUB:
		v = x - y;
		break;
	case ARITH_MUL:
		if (__builtin_mul_overflow(x, y, &v))
			return false;
		break;
	default:
		if (!y)
			return false;
		v = op == ARITH_DIV ? x / y : x % y;
		break;
	}
	return narrow(v, ret_unsigned, ret);
}

static bool finite_result(double v, double *ret)
{
	if (!isfinite(v))
		return false;
	*ret = v == 0 ? 0 : v; /* avoids -0, which would be a group of its own */
	return true;
}

bool arith_float(enum expr_arith op, double a, double b, double *ret)
{
	switch (op) {
	case ARITH_ADD:
		return finite_result(a + b, ret);
	case ARITH_SUB:
		return finite_result(a - b, ret);
	case ARITH_MUL:
		return finite_result(a * b, ret);
	case ARITH_DIV:
		return b != 0 && finite_result(a / b, ret);
	default:
		assert(op == ARITH_MOD);
		return b != 0 && finite_result(fmod(a, b), ret);
	}
}

bool round_float(double v, bool ret_unsigned, int64_t *ret)
{
	double whole = round(v);

	if (ret_unsigned ? !(whole >= 0 && whole < 0x1p64) : !(whole >= -0x1p63 && whole < 0x1p63))
		return false;
	*ret = ret_unsigned ? (int64_t)(uint64_t)whole : (int64_t)whole;
	return true;
}

static bool bucket(__int128 x, __int128 width, bool ret_unsigned, int64_t *ret)
{
	__int128 rest;

	if (width <= 0)
		return false;
	rest = x % width;
	assert(rest > -width && rest < width);
	return narrow(x - rest - (rest < 0 ? width : 0), ret_unsigned, ret);
}

static bool log2_int(__int128 x, bool ret_unsigned, int64_t *ret)
{
	if (x < 0)
		return false;
	assert(x <= UINT64_MAX);
	return narrow(x ? (__int128)1 << (63 - __builtin_clzll((uint64_t)x)) : 0, ret_unsigned,
		      ret);
}

/* The units since the hour or the day began, rounded down, also before 1970. */
static int64_t clock_part(__int128 ns, int64_t unit_ns, int64_t units)
{
	__int128 rest = ns % ((__int128)unit_ns * units);

	assert(unit_ns > 0 && units > 0);
	return (int64_t)((rest < 0 ? rest + (__int128)unit_ns * units : rest) / unit_ns);
}

bool function_int(enum query_function f, int64_t a, bool a_unsigned, int64_t b, bool b_unsigned,
		  bool ret_unsigned, int64_t *ret)
{
	__int128 x = wide(a, a_unsigned);

	switch (f) {
	case FUNCTION_BUCKET:
		return bucket(x, wide(b, b_unsigned), ret_unsigned, ret);
	case FUNCTION_LOG2:
		return log2_int(x, ret_unsigned, ret);
	case FUNCTION_HOUR:
		*ret = clock_part(x, SECONDS_PER_HOUR * NSEC_PER_SEC, HOURS_PER_DAY);
		return true;
	case FUNCTION_MINUTE:
		*ret = clock_part(x, 60 * NSEC_PER_SEC, 60);
		return true;
	case FUNCTION_ABS:
		return narrow(x < 0 ? -x : x, ret_unsigned, ret);
	case FUNCTION_BITAND:
		*ret = a & b;
		return true;
	default:
		assert(f == FUNCTION_BITOR);
		*ret = a | b;
		return true;
	}
}

bool function_float(enum query_function f, double a, double b, double *ret)
{
	int exponent;

	switch (f) {
	case FUNCTION_BUCKET:
		return b > 0 && finite_result(floor(a / b) * b, ret);
	case FUNCTION_LOG2:
		if (a < 0)
			return false;
		frexp(a, &exponent);
		return finite_result(a > 0 ? ldexp(1, exponent - 1) : 0, ret);
	default:
		assert(f == FUNCTION_ABS);
		return finite_result(fabs(a), ret);
	}
}

/* The ints for which a comparison with a constant is true, as a range; NE is the complement of EQ. */
void query_const_range(enum expr_compare cmp, struct query_kind kind, const struct value *v,
		       __int128 *ret_low, __int128 *ret_high)
{
	bool whole = true;
	__int128 down, up;

	assert(!v->null);
	if (kind.type == QUERY_FLOAT) {
		double f = fmax(fmin(v->f, 0x1p66), -0x1p66);

		down = (__int128)floor(f);
		up = (__int128)ceil(f);
		whole = down == up;
	} else {
		down = up = kind_unsigned(kind) ? (__int128)(uint64_t)v->i : v->i;
	}
	*ret_low = 2 * (__int128)INT64_MIN - 1;
	*ret_high = 4 * (__int128)INT64_MAX;
	switch (cmp) {
	case COMPARE_LT:
		*ret_high = up - 1;
		return;
	case COMPARE_LE:
		*ret_high = down;
		return;
	case COMPARE_GT:
		*ret_low = down + 1;
		return;
	case COMPARE_GE:
		*ret_low = up;
		return;
	default:
		assert(cmp == COMPARE_EQ || cmp == COMPARE_NE);
		*ret_low = whole ? down : 1;
		*ret_high = whole ? down : 0;
		return;
	}
}

enum expr_compare query_compare_turned(enum expr_compare cmp)
{
	switch (cmp) {
	case COMPARE_LT:
		return COMPARE_GT;
	case COMPARE_LE:
		return COMPARE_GE;
	case COMPARE_GT:
		return COMPARE_LT;
	case COMPARE_GE:
		return COMPARE_LE;
	default:
		assert(cmp == COMPARE_EQ || cmp == COMPARE_NE);
		return cmp;
	}
}
