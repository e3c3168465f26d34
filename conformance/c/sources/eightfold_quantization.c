/* SPDX-License-Identifier: Apache-2.0
 *
 * Scales and zero points, and what operators derive from them: eightfold.golden.quantization.
 */
#include "eightfold_golden.h"

#include <float.h>
#include <math.h>

/* Scales are multiplied and divided in exactly the type that is written. */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "float arithmetic has excess precision; for 32-bit x86, gcc -msse2 -mfpmath=sse has none"
#endif
#ifdef __FAST_MATH__
#error "-ffast-math changes results; compile these files without it"
#endif

enum eightfold_status eightfold_check_quantization(const eightfold_quantization *quantization)
{
    if (!isfinite(quantization->scale) || quantization->scale <= 0.0f)
        return EIGHTFOLD_UNDEFINED;
    if (quantization->zero_point < -128 || quantization->zero_point > 127)
        return EIGHTFOLD_UNSUPPORTED;
    return EIGHTFOLD_OK;
}

/* The code of a real bound, which is then within int8 only after a clamp. */
static enum eightfold_status bound_code(float real, const eightfold_quantization *output,
                                        int64_t *code)
{
    const double steps = roundf(real / output->scale);

    if (!(steps >= INT32_MIN && steps <= INT32_MAX))
        return EIGHTFOLD_REJECTED;
    *code = output->zero_point + (int64_t)steps;
    return EIGHTFOLD_OK;
}

enum eightfold_status eightfold_activation_bounds(enum eightfold_activation activation,
                                                  const eightfold_quantization *output,
                                                  int32_t *low, int32_t *high)
{
    enum eightfold_status status = eightfold_check_quantization(output);
    int64_t lower = -128, upper = 127;

    if (status == EIGHTFOLD_OK && activation != EIGHTFOLD_NONE)
        status = bound_code(activation == EIGHTFOLD_RELU_N1_TO_1 ? -1.0f : 0.0f, output, &lower);
    if (status == EIGHTFOLD_OK && activation != EIGHTFOLD_NONE && activation != EIGHTFOLD_RELU)
        status = bound_code(activation == EIGHTFOLD_RELU6 ? 6.0f : 1.0f, output, &upper);
    if (status != EIGHTFOLD_OK)
        return status;
    *low = (int32_t)(lower > -128 ? lower : -128);
    *high = (int32_t)(upper < 127 ? upper : 127);
    return EIGHTFOLD_OK;
}

enum eightfold_status eightfold_fused_bounds(enum eightfold_activation activation,
                                             const eightfold_quantization *output, int32_t *low,
                                             int32_t *high)
{
    const int clamps = activation == EIGHTFOLD_RELU || activation == EIGHTFOLD_RELU_N1_TO_1 ||
                       activation == EIGHTFOLD_RELU6;

    return eightfold_activation_bounds(clamps ? activation : EIGHTFOLD_NONE, output, low, high);
}

enum eightfold_status eightfold_usable_multiplier(double d, int32_t *multiplier, int32_t *shift)
{
    const enum eightfold_status status = eightfold_quantize_multiplier(d, multiplier, shift);

    return status == EIGHTFOLD_OK && *shift > 31 ? EIGHTFOLD_UNDEFINED : status;
}

int8_t eightfold_to_code(int32_t scaled, int32_t zero_point, int32_t low, int32_t high)
{
    const int32_t code = eightfold_wrap32((int64_t)scaled + zero_point);

    return (int8_t)(code < low ? low : code > high ? high : code);
}
