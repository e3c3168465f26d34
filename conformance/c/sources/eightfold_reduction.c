/* SPDX-License-Identifier: Apache-2.0
 *
 * MEAN and SUM: eightfold.golden.reduction.
 */
#include "eightfold_golden.h"

#define MAX_RANK 8

/* The axes of one kind, reduced or kept: their sizes, and how far apart their elements lie. */
typedef struct axes_of {
    int32_t rank;
    size_t sizes[MAX_RANK];
    size_t strides[MAX_RANK];
    size_t count; /* of all elements */
} axes_of;

static void add_axis(axes_of *axes, size_t size, size_t stride)
{
    axes->sizes[axes->rank] = size;
    axes->strides[axes->rank] = stride;
    axes->rank++;
    axes->count *= size;
}

/* Where element `index` of these axes lies; the last index is the fastest, the first in `axes`. */
static size_t place(const axes_of *axes, size_t index)
{
    size_t result = 0;
    int32_t i;

    for (i = 0; i < axes->rank; i++) {
        result += index % axes->sizes[i] * axes->strides[i];
        index /= axes->sizes[i];
    }
    return result;
}

/* Folds the division by `count` into a pair. */
static void divide(int64_t count, int32_t *multiplier, int32_t *shift)
{
    int32_t k = 0;

    while (k < 32 && k < 31 + *shift && count >> k > 1)
        k++;
    *multiplier = (int32_t)(*multiplier * ((int64_t)1 << k) / count);
    *shift -= k;
}

static enum eightfold_status reduce(int mean, int32_t rank, const int32_t *shape, uint32_t axes,
                                    const int8_t *EIGHTFOLD_RESTRICT input,
                                    const eightfold_quantization *in,
                                    const eightfold_quantization *out,
                                    int8_t *EIGHTFOLD_RESTRICT output)
{
    axes_of reduced = {0, {0}, {0}, 1}, kept = {0, {0}, {0}, 1};
    enum eightfold_status status = eightfold_check_quantization(in);
    int32_t multiplier = 0, shift = 0, axis;
    size_t stride = 1, i, j;

    if (status == EIGHTFOLD_OK)
        status = eightfold_check_quantization(out);
    if (status == EIGHTFOLD_OK && (rank < 0 || rank > MAX_RANK))
        status = EIGHTFOLD_UNSUPPORTED;
    if (status == EIGHTFOLD_OK && axes >> rank)
        status = EIGHTFOLD_REJECTED;
    if (status == EIGHTFOLD_OK)
        status = eightfold_quantize_multiplier((double)in->scale / (double)out->scale,
                                               &multiplier, &shift);
    if (status != EIGHTFOLD_OK)
        return status;
    for (axis = rank - 1; axis >= 0; axis--) {
        if (shape[axis] < 1)
            return EIGHTFOLD_UNDEFINED;
        add_axis(axes >> axis & 1 ? &reduced : &kept, (size_t)shape[axis], stride);
        stride *= (size_t)shape[axis];
    }
    if (mean)
        divide((int64_t)reduced.count, &multiplier, &shift);
    if (shift > 31)
        return EIGHTFOLD_UNDEFINED;
    for (i = 0; i < kept.count; i++) {
        const int8_t *codes = input + place(&kept, i);
        uint32_t sum = 0;

        for (j = 0; j < reduced.count; j++)
            sum += (uint32_t)(codes[place(&reduced, j)] - in->zero_point);
        output[i] = eightfold_to_code(
            eightfold_multiply_by_quantized_multiplier(eightfold_wrap32((int64_t)sum), multiplier,
                                                       shift),
            out->zero_point, -128, 127);
    }
    return EIGHTFOLD_OK;
}

enum eightfold_status eightfold_mean(int32_t rank, const int32_t *shape, uint32_t axes,
                                     const int8_t *EIGHTFOLD_RESTRICT input,
                                     const eightfold_quantization *input_quantization,
                                     const eightfold_quantization *output_quantization,
                                     int8_t *EIGHTFOLD_RESTRICT output)
{
    return reduce(1, rank, shape, axes, input, input_quantization, output_quantization, output);
}

enum eightfold_status eightfold_sum(int32_t rank, const int32_t *shape, uint32_t axes,
                                    const int8_t *EIGHTFOLD_RESTRICT input,
                                    const eightfold_quantization *input_quantization,
                                    const eightfold_quantization *output_quantization,
                                    int8_t *EIGHTFOLD_RESTRICT output)
{
    return reduce(0, rank, shape, axes, input, input_quantization, output_quantization, output);
}
