/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of one byte as tables: eightfold.golden.unary, and LEAKY_RELU of rectifiers.
 */
#include "eightfold_golden.h"

#include <math.h>

void eightfold_look_up(const int8_t *table, const int8_t *input, size_t count, int8_t *output)
{
    size_t i;

    for (i = 0; i < count; i++)
        output[i] = table[(uint8_t)input[i]];
}

/* EIGHTFOLD_OK, or what is wrong with one of the two tensors. */
static enum eightfold_status check_both(const eightfold_quantization *input,
                                        const eightfold_quantization *output)
{
    const enum eightfold_status status = eightfold_check_quantization(input);

    return status == EIGHTFOLD_OK ? eightfold_check_quantization(output) : status;
}

/* MBQM(code - z_in, pair of real) + z_out for every code, clamped to [low, high]. */
static enum eightfold_status rescale(double real, const eightfold_quantization *input,
                                     const eightfold_quantization *output, int32_t low,
                                     int32_t high, int8_t *table)
{
    int32_t multiplier = 0, shift = 0, code;
    const enum eightfold_status status = eightfold_usable_multiplier(real, &multiplier, &shift);

    for (code = -128; status == EIGHTFOLD_OK && code < 128; code++) {
        const int32_t scaled = eightfold_multiply_by_quantized_multiplier(
            code - input->zero_point, multiplier, shift);
        table[code & 255] = eightfold_to_code(scaled, output->zero_point, low, high);
    }
    return status;
}

enum eightfold_status eightfold_quantize_table(const eightfold_quantization *input,
                                               const eightfold_quantization *output,
                                               int8_t *table)
{
    const enum eightfold_status status = check_both(input, output);

    if (status != EIGHTFOLD_OK)
        return status;
    return rescale((double)input->scale / (double)output->scale, input, output, -128, 127, table);
}

enum eightfold_status eightfold_relu_table(enum eightfold_activation activation,
                                           enum eightfold_reference reference,
                                           const eightfold_quantization *input,
                                           const eightfold_quantization *output, int8_t *table)
{
    const int clamps_codes = reference == EIGHTFOLD_TFLM && activation == EIGHTFOLD_RELU6;
    enum eightfold_status status = check_both(input, output);
    int32_t low = 0, high = 0, code;

    if (activation == EIGHTFOLD_NONE)
        return EIGHTFOLD_REJECTED;
    if (status == EIGHTFOLD_OK) {
        status = eightfold_activation_bounds(activation, clamps_codes ? input : output, &low,
                                             &high);
        /* As an operator, the kernel does not check what a fused activation's does. */
        if (status == EIGHTFOLD_REJECTED)
            status = EIGHTFOLD_UNDEFINED;
    }
    if (status != EIGHTFOLD_OK)
        return status;
    if (!clamps_codes)
        return rescale((double)(input->scale / output->scale), input, output, low, high, table);
    for (code = -128; code < 128; code++)
        table[code & 255] = eightfold_to_code(code, 0, low, high);
    return EIGHTFOLD_OK;
}

enum eightfold_status eightfold_leaky_relu_table(float alpha, const eightfold_quantization *input,
                                                 const eightfold_quantization *output,
                                                 int8_t *table)
{
    enum eightfold_status status = check_both(input, output);
    int32_t multiplier = 0, shift = 0, code;
    double slope;

    if (status == EIGHTFOLD_OK)
        status = rescale((double)(input->scale / output->scale), input, output, -128, 127, table);
    if (status != EIGHTFOLD_OK)
        return status;
    slope = (double)(input->scale * alpha / output->scale);
    status = eightfold_usable_multiplier(fabs(slope), &multiplier, &shift);
    for (code = -128; status == EIGHTFOLD_OK && code < input->zero_point; code++) {
        /* A negative slope multiplies by its magnitude and negates: ties keep their direction. */
        const int64_t magnitude = eightfold_multiply_by_quantized_multiplier(
            code - input->zero_point, multiplier, shift);
        const int32_t scaled = eightfold_wrap32(slope < 0.0 ? -magnitude : magnitude);
        table[code & 255] = eightfold_to_code(scaled, output->zero_point, -128, 127);
    }
    return status;
}
