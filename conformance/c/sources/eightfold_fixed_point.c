/* SPDX-License-Identifier: Apache-2.0
 *
 * int32 fixed-point primitives: eightfold.golden.fixed_point and rounding.
 *
 * Nothing depends on what C leaves to the compiler: signed sums do not overflow, negative numbers
 * are not shifted, and no conversion is out of range.
 */
#include "eightfold_golden.h"

#include <math.h>

/* floor(x / 2^e), 0 <= e <= 62. */
static int64_t floor_shift(int64_t x, int32_t e)
{
    return x >= 0 ? x >> e : ~(~x >> e);
}

int32_t eightfold_wrap32(int64_t x)
{
    const uint32_t bits = (uint32_t)x;

    return bits <= INT32_MAX ? (int32_t)bits : (int32_t)((int64_t)bits - ((int64_t)1 << 32));
}

int64_t eightfold_rounding_shift(int64_t x, int32_t e, int32_t rounding)
{
    int64_t floor, unit, dropped;
    int above, tie;

    if (e < 0 || e > 62 || rounding < EIGHTFOLD_HALF_AWAY || rounding > EIGHTFOLD_UP)
        return 0;
    floor = floor_shift(x, e);
    unit = (int64_t)1 << e;
    dropped = x & (unit - 1);
    /* Twice the dropped part against the unit needs no half of 2^0, and fits. */
    above = 2 * dropped > unit;
    tie = 2 * dropped == unit;
    switch (rounding) {
    case EIGHTFOLD_HALF_AWAY:
        return floor + (above || (tie && x >= 0));
    case EIGHTFOLD_HALF_UP:
        return floor + (above || tie);
    case EIGHTFOLD_HALF_DOWN:
        return floor + above;
    case EIGHTFOLD_HALF_EVEN:
        return floor + (above || (tie && (floor & 1)));
    case EIGHTFOLD_TOWARD_ZERO:
        return floor + (dropped > 0 && x < 0);
    case EIGHTFOLD_UP:
        return floor + (dropped > 0);
    default:
        return floor;
    }
}

int32_t eightfold_srdhm(int32_t a, int32_t b)
{
    const int64_t result = floor_shift((int64_t)a * b + ((int64_t)1 << 30), 31);

    return result > INT32_MAX ? INT32_MAX : (int32_t)result;
}

int32_t eightfold_rounding_divide_by_pot(int32_t x, int32_t e)
{
    return e > 31 ? 0 : (int32_t)eightfold_rounding_shift(x, e, EIGHTFOLD_HALF_AWAY);
}

int32_t eightfold_multiply_by_quantized_multiplier(int32_t x, int32_t multiplier, int32_t shift)
{
    if (shift < -31 || shift > 31)
        return 0;
    if (shift <= 0)
        return eightfold_rounding_divide_by_pot(eightfold_srdhm(x, multiplier), -shift);
    return eightfold_srdhm(eightfold_wrap32((int64_t)x * ((int64_t)1 << shift)), multiplier);
}

int32_t eightfold_multiply_by_quantized_multiplier_single(int32_t x, int32_t multiplier,
                                                          int32_t shift)
{
    if (shift < -31 || shift > 30)
        return 0;
    return eightfold_wrap32(
        eightfold_rounding_shift((int64_t)x * multiplier, 31 - shift, EIGHTFOLD_HALF_UP));
}

enum eightfold_status eightfold_quantize_multiplier(double d, int32_t *multiplier, int32_t *shift)
{
    int exponent = 0;
    int64_t rounded;

    if (!isfinite(d))
        return EIGHTFOLD_UNDEFINED;
    rounded = (int64_t)round(frexp(d, &exponent) * 2147483648.0);
    if (rounded == (int64_t)1 << 31) {
        rounded = (int64_t)1 << 30;
        exponent += 1;
    }
    if (exponent < -31) {
        rounded = 0;
        exponent = 0;
    }
    *multiplier = (int32_t)rounded;
    *shift = exponent;
    return EIGHTFOLD_OK;
}

enum eightfold_status eightfold_quantize_multiplier_smaller_than_one(double d,
                                                                     int32_t *multiplier,
                                                                     int32_t *shift)
{
    enum eightfold_status status;

    if (!(d > 0.0 && d < 1.0))
        return EIGHTFOLD_ABORTED;
    status = eightfold_quantize_multiplier(d, multiplier, shift);
    return status == EIGHTFOLD_OK && *shift > 0 ? EIGHTFOLD_ABORTED : status;
}
