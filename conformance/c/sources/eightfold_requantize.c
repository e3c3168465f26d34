/* SPDX-License-Identifier: Apache-2.0
 *
 * The requantizer: eightfold.golden.requantize.
 */
#include "eightfold_golden.h"

static int within(int32_t value, int32_t low, int32_t high)
{
    return low <= value && value <= high;
}

int32_t eightfold_requantize(int32_t acc, int32_t bias, int32_t left, int32_t multiplier,
                             int32_t single, int32_t right, int32_t rounding,
                             int32_t zero_point, int32_t low, int32_t high)
{
    int64_t v;
    int32_t x;

    if (multiplier < 0 || !within(left, 0, 30) || !within(single, 0, 1) ||
        !within(right, 0, single ? 62 : 31) ||
        !within(rounding, EIGHTFOLD_HALF_AWAY, EIGHTFOLD_UP) || !within(zero_point, -128, 127) ||
        !within(low, -128, 127) || !within(high, low, 127))
        return EIGHTFOLD_REFUSED;
    x = eightfold_wrap32((int64_t)acc + bias);
    x = eightfold_wrap32((int64_t)x * ((int64_t)1 << left));
    if (single)
        v = eightfold_rounding_shift((int64_t)x * multiplier, right, rounding) + zero_point;
    else
        v = eightfold_wrap32(
            eightfold_rounding_shift(eightfold_srdhm(x, multiplier), right, rounding) +
            zero_point);
    return (int32_t)(v < low ? low : v > high ? high : v);
}
