/* SPDX-License-Identifier: Apache-2.0
 *
 * FULLY_CONNECTED: eightfold.golden.fully_connected. LiteRT requantizes in double, TFLite Micro in
 * integers.
 */
#include "eightfold_golden.h"

#include <math.h>

/* What scales the accumulators of one output channel. */
typedef struct scaling {
    enum eightfold_reference reference;
    double real;
    int32_t multiplier;
    int32_t shift;
} scaling;

static enum eightfold_status prepare_scaling(scaling *by, enum eightfold_reference reference,
                                             float input, const eightfold_filter *filter,
                                             int32_t output_channel, float output)
{
    const float scale = filter->scales[filter->scale_count == 1 ? 0 : output_channel];

    if (!isfinite(scale) || scale < 0.0f)
        return EIGHTFOLD_UNDEFINED;
    by->reference = reference;
    by->real = (double)input * (double)scale / (double)output;
    if (reference == EIGHTFOLD_LITERT)
        return EIGHTFOLD_OK;
    if (filter->scale_count == 1)
        by->real = (double)(input * scale) / (double)output;
    return eightfold_usable_multiplier(by->real, &by->multiplier, &by->shift);
}

static enum eightfold_status scale(const scaling *by, int32_t acc, int32_t *scaled)
{
    double rounded;

    if (by->reference == EIGHTFOLD_TFLM) {
        *scaled = eightfold_multiply_by_quantized_multiplier(acc, by->multiplier, by->shift);
        return EIGHTFOLD_OK;
    }
    rounded = round((double)acc * by->real);
    if (!(rounded >= INT32_MIN && rounded <= INT32_MAX))
        return EIGHTFOLD_UNDEFINED;
    *scaled = (int32_t)rounded;
    return EIGHTFOLD_OK;
}

/* wrap32(sum of (w - z_w) * (x - z) of one row, + bias). */
static int32_t accumulate(const int8_t *codes, int32_t zero_point, const int8_t *weights,
                          int32_t weight_zero_point, int32_t depth, uint32_t bias)
{
    uint32_t sum = bias;
    int32_t i;

    for (i = 0; i < depth; i++)
        sum += (uint32_t)((weights[i] - weight_zero_point) * (codes[i] - zero_point));
    return eightfold_wrap32((int64_t)sum);
}

enum eightfold_status eightfold_fully_connected(enum eightfold_reference reference, int32_t rows,
                                                const int8_t *EIGHTFOLD_RESTRICT input,
                                                const eightfold_quantization *input_quantization,
                                                const eightfold_filter *filter,
                                                const int32_t *EIGHTFOLD_RESTRICT bias,
                                                enum eightfold_activation activation,
                                                const eightfold_quantization *output_quantization,
                                                int8_t *EIGHTFOLD_RESTRICT output)
{
    const eightfold_quantization *const in = input_quantization, *const out = output_quantization;
    const int32_t weight_zero_point = filter->scale_count == 1 ? filter->zero_point : 0;
    enum eightfold_status status = eightfold_check_quantization(in);
    int32_t low = 0, high = 0, c, row;

    if (status == EIGHTFOLD_OK)
        status = eightfold_fused_bounds(activation, out, &low, &high);
    if (status != EIGHTFOLD_OK)
        return status;
    if (activation == EIGHTFOLD_RELU_0_TO_1 || filter->outputs < 1 || filter->depth < 1 ||
        (filter->scale_count != 1 && filter->scale_count != filter->outputs))
        return EIGHTFOLD_REJECTED;
    if (weight_zero_point < -128 || weight_zero_point > 127)
        return EIGHTFOLD_UNSUPPORTED;
    for (c = 0; c < filter->outputs; c++) {
        const int8_t *weights = filter->codes + (size_t)c * (size_t)filter->depth;
        scaling by;

        status = prepare_scaling(&by, reference, in->scale, filter, c, out->scale);
        for (row = 0; status == EIGHTFOLD_OK && row < rows; row++) {
            const int8_t *codes = input + (size_t)row * (size_t)filter->depth;
            int32_t scaled = 0;

            status = scale(&by,
                           accumulate(codes, in->zero_point, weights, weight_zero_point,
                                      filter->depth, bias ? (uint32_t)bias[c] : 0u),
                           &scaled);
            output[(size_t)row * (size_t)filter->outputs + (size_t)c] =
                eightfold_to_code(scaled, out->zero_point, low, high);
        }
        if (status != EIGHTFOLD_OK)
            return status;
    }
    return EIGHTFOLD_OK;
}
