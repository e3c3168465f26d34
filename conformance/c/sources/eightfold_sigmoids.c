/* SPDX-License-Identifier: Apache-2.0
 *
 * LOGISTIC and TANH: eightfold.golden.unary and fixed_point_math.
 */
#include "eightfold_golden.h"

#include <math.h>

/* ---- LiteRT: float tables --------------------------------------------------------------- */

static float sigmoid(float x)
{
    return 1.0f / (1.0f + (float)exp(-(double)x));
}

static float hyperbolic_tangent(float x)
{
    return (float)tanh((double)x);
}

static enum eightfold_status float_table(float (*function)(float),
                                         const eightfold_quantization *input,
                                         const eightfold_quantization *output, int8_t *table)
{
    const float inverse = 1.0f / output->scale;
    int32_t code;

    for (code = -128; code < 128; code++) {
        const float real = function(input->scale * (float)(code - input->zero_point));
        const float steps = roundf(real * inverse) + (float)output->zero_point;

        if (!(steps >= -2147483648.0f && steps < 2147483648.0f))
            return EIGHTFOLD_UNDEFINED;
        table[code & 255] = eightfold_to_code((int32_t)steps, 0, -128, 127);
    }
    return EIGHTFOLD_OK;
}

/* ---- TFLite Micro: fixed point. Qk is an int32 with k integer bits, 31 - k of fraction ---- */

/* The product of a Qa and a Qb is a Q(a + b). */
static int64_t product(int64_t a, int64_t b)
{
    return eightfold_srdhm((int32_t)a, (int32_t)b);
}

static int64_t halved(int64_t x, int32_t times)
{
    return eightfold_rounding_shift(x, times, EIGHTFOLD_HALF_AWAY);
}

static int64_t doubled(int64_t x, int32_t times)
{
    const int64_t result = x * ((int64_t)1 << times);

    return result > INT32_MAX ? INT32_MAX : result < INT32_MIN ? INT32_MIN : result;
}

/* exp(a) in Q0 of a in [-1/4, 0) in Q0: a Taylor polynomial of degree 4 around -1/8. */
static int64_t exp_on_last_quarter(int64_t a)
{
    const int64_t minus_eighth = 1895147668, one_third = 715827883; /* exp(-1/8), 1/3 */
    const int64_t x = a + ((int64_t)1 << 28);
    const int64_t x2 = product(x, x);
    const int64_t x3 = product(x2, x);
    const int64_t x4 = product(x2, x2);
    const int64_t tail = halved(product(halved(x4, 2) + x3, one_third) + x2, 1);

    return minus_eighth + product(minus_eighth, x + tail);
}

/* exp(a) in Q0 of a <= 0 in Q(integer_bits), 0 <= integer_bits <= 5: a part in [-1/4, 0), and a
 * multiple of 1/4, one factor exp(-2^(n - 2)) for each bit that is set. exp(0) is 2^31 - 1. */
static int64_t exp_on_negative(int64_t a, int32_t integer_bits)
{
    const int64_t powers[7] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int64_t quarter = (int64_t)1 << (29 - integer_bits);
    const int64_t fine = (a & (quarter - 1)) - quarter;
    const int64_t rest = fine - a;
    int64_t result = exp_on_last_quarter(doubled(fine, integer_bits));
    int32_t n;

    for (n = 0; n - 2 < integer_bits; n++)
        if ((rest >> (29 - integer_bits + n)) & 1)
            result = product(result, powers[n]);
    return a == 0 ? INT32_MAX : result;
}

/* 2 / (1 + a) in Q2 of a in [0, 1) in Q0: three Newton-Raphson steps from 48/17 - 32/17 * a. */
static int64_t half_denominator_inverse(int64_t a)
{
    const int64_t half = halved(a + INT32_MAX, 1);
    int64_t x = 1515870810 + product(half, -1010580540);
    int step;

    for (step = 0; step < 3; step++)
        x += doubled(product(x, ((int64_t)1 << 29) - product(half, x)), 2);
    return x;
}

/* 1 / (1 + exp(-a)) in Q0 of a in Q4. */
static int64_t fixed_logistic(int64_t a)
{
    const int64_t positive =
        doubled(half_denominator_inverse(exp_on_negative(a > 0 ? -a : a, 4)), 1);

    return a > 0 ? positive : a < 0 ? INT32_MAX - positive : (int64_t)1 << 30;
}

/* tanh(a) = (1 - exp(-2a)) / (1 + exp(-2a)) in Q0 of a in Q4, which read as Q5 is 2a. */
static int64_t fixed_tanh(int64_t a)
{
    const int64_t inverse = half_denominator_inverse(exp_on_negative(a > 0 ? -a : a, 5));
    const int64_t positive = doubled(inverse - ((int64_t)1 << 29), 2);

    return a > 0 ? positive : a < 0 ? -positive : 0;
}

/* The function in Q4 with `drop` bits rounded off, plus offset. Codes at or beyond the radius, the
 * largest difference that Q4 holds, saturate. */
static enum eightfold_status fixed_table(int64_t (*function)(int64_t), int32_t drop,
                                         int32_t offset, const eightfold_quantization *input,
                                         int8_t *table)
{
    int32_t multiplier = 0, shift = 0, code;
    double radius;
    const enum eightfold_status status =
        eightfold_quantize_multiplier((double)input->scale * 134217728.0, &multiplier, &shift);

    if (status != EIGHTFOLD_OK)
        return status;
    radius = floor(ldexp(15.0, 27 - shift));
    if (radius > INT32_MAX)
        return EIGHTFOLD_UNDEFINED;
    for (code = -128; code < 128; code++) {
        const int32_t v = code - input->zero_point;
        int64_t result = v <= -radius ? -128 : 127;

        if (-radius < v && v < radius)
            result = halved(function(eightfold_multiply_by_quantized_multiplier(v, multiplier,
                                                                                shift)),
                            drop) +
                     offset;
        table[code & 255] = eightfold_to_code((int32_t)result, 0, -128, 127);
    }
    return EIGHTFOLD_OK;
}

/* ---- Both ------------------------------------------------------------------------------- */

enum eightfold_status eightfold_logistic_table(enum eightfold_reference reference,
                                               const eightfold_quantization *input,
                                               const eightfold_quantization *output,
                                               int8_t *table)
{
    enum eightfold_status status = eightfold_check_quantization(input);

    if (status == EIGHTFOLD_OK)
        status = eightfold_check_quantization(output);
    if (status != EIGHTFOLD_OK)
        return status;
    if (reference == EIGHTFOLD_TFLM)
        return fixed_table(fixed_logistic, 23, -128, input, table);
    if (output->scale != 0.00390625f)
        return EIGHTFOLD_REJECTED;
    return float_table(sigmoid, input, output, table);
}

enum eightfold_status eightfold_tanh_table(enum eightfold_reference reference,
                                           const eightfold_quantization *input,
                                           const eightfold_quantization *output, int8_t *table)
{
    enum eightfold_status status = eightfold_check_quantization(input);

    if (status == EIGHTFOLD_OK)
        status = eightfold_check_quantization(output);
    if (status != EIGHTFOLD_OK)
        return status;
    if (reference == EIGHTFOLD_TFLM)
        return fixed_table(fixed_tanh, 24, 0, input, table);
    return float_table(hyperbolic_tangent, input, output, table);
}
