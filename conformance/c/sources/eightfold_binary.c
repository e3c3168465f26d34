/* SPDX-License-Identifier: Apache-2.0
 *
 * ADD, SUB and MUL with broadcasting: eightfold.golden.binary.
 */
#include "eightfold_golden.h"

#define MAX_RANK 8
#define ADD_LEFT_SHIFT 20 /* fraction bits that ADD and SUB give the operands */

static enum eightfold_status prepare_sum(eightfold_binary *binary, double a, double b,
                                         double output)
{
    const double common = 2.0 * (a > b ? a : b);
    const double real = common / (double)((int32_t)1 << ADD_LEFT_SHIFT) / output;
    enum eightfold_status status;

    if (binary->name == EIGHTFOLD_SUB && real > 1.0)
        return EIGHTFOLD_UNDEFINED;
    status = eightfold_quantize_multiplier_smaller_than_one(a / common, &binary->multipliers[0],
                                                            &binary->shifts[0]);
    if (status == EIGHTFOLD_OK)
        status = eightfold_quantize_multiplier_smaller_than_one(
            b / common, &binary->multipliers[1], &binary->shifts[1]);
    if (status == EIGHTFOLD_OK)
        status = eightfold_quantize_multiplier_smaller_than_one(real, &binary->multiplier,
                                                                &binary->shift);
    return status;
}

static enum eightfold_status prepare_product(eightfold_binary *binary,
                                             enum eightfold_reference reference, float a, float b,
                                             float output)
{
    const double real = reference == EIGHTFOLD_TFLM ? (double)a * (double)b / (double)output
                                                    : (double)(a * b / output);

    binary->multipliers[0] = binary->multipliers[1] = 0;
    binary->shifts[0] = binary->shifts[1] = 0;
    return eightfold_usable_multiplier(real, &binary->multiplier, &binary->shift);
}

enum eightfold_status eightfold_prepare_binary(eightfold_binary *binary,
                                               enum eightfold_binary_operator name,
                                               enum eightfold_reference reference,
                                               const eightfold_quantization *a,
                                               const eightfold_quantization *b,
                                               const eightfold_quantization *output,
                                               enum eightfold_activation activation)
{
    enum eightfold_status status = eightfold_check_quantization(a);

    if (status == EIGHTFOLD_OK)
        status = eightfold_check_quantization(b);
    if (status == EIGHTFOLD_OK)
        status = eightfold_fused_bounds(activation, output, &binary->low, &binary->high);
    if (status == EIGHTFOLD_UNSUPPORTED && name == EIGHTFOLD_SUB)
        status = EIGHTFOLD_REJECTED; /* the only operator that checks its zero points */
    if (status != EIGHTFOLD_OK)
        return status;
    binary->name = name;
    binary->zero_points[0] = a->zero_point;
    binary->zero_points[1] = b->zero_point;
    binary->zero_point = output->zero_point;
    if (name == EIGHTFOLD_MUL)
        return prepare_product(binary, reference, a->scale, b->scale, output->scale);
    return prepare_sum(binary, (double)a->scale, (double)b->scale, (double)output->scale);
}

/* An operand of ADD or SUB in the common scale. */
static int32_t rescaled(const eightfold_binary *binary, int position, int32_t difference)
{
    return eightfold_multiply_by_quantized_multiplier(
        difference * ((int32_t)1 << ADD_LEFT_SHIFT), binary->multipliers[position],
        binary->shifts[position]);
}

int8_t eightfold_binary_code(const eightfold_binary *binary, int8_t a, int8_t b)
{
    const int32_t x = a - binary->zero_points[0], y = b - binary->zero_points[1];
    int32_t combined;

    if (binary->name == EIGHTFOLD_MUL)
        combined = x * y;
    else if (binary->name == EIGHTFOLD_SUB)
        combined = rescaled(binary, 0, x) - rescaled(binary, 1, y);
    else
        combined = rescaled(binary, 0, x) + rescaled(binary, 1, y);
    return eightfold_to_code(eightfold_multiply_by_quantized_multiplier(
                                 combined, binary->multiplier, binary->shift),
                             binary->zero_point, binary->low, binary->high);
}

/* The place of an output's element in an operand whose sizes of 1 are repeated. */
static size_t place(size_t index, int32_t rank, const int32_t *shape, const int32_t *operand)
{
    size_t result = 0, stride = 1;
    int32_t axis;

    for (axis = rank - 1; axis >= 0; axis--) {
        const size_t size = (size_t)shape[axis];

        if (operand[axis] != 1)
            result += index % size * stride;
        stride *= (size_t)operand[axis];
        index /= size;
    }
    return result;
}

enum eightfold_status eightfold_binary_broadcast(const eightfold_binary *binary, int32_t rank,
                                                 const int32_t *a_shape,
                                                 const int8_t *EIGHTFOLD_RESTRICT a,
                                                 const int32_t *b_shape,
                                                 const int8_t *EIGHTFOLD_RESTRICT b,
                                                 int8_t *EIGHTFOLD_RESTRICT output)
{
    int32_t shape[MAX_RANK] = {0}, axis;
    size_t count = 1, i;

    if (rank < 0)
        return EIGHTFOLD_REJECTED;
    if (rank > MAX_RANK)
        return EIGHTFOLD_ABORTED;
    for (axis = 0; axis < rank; axis++) {
        const int32_t size = a_shape[axis], other = b_shape[axis];

        if (size < 0 || other < 0 || (size != other && size != 1 && other != 1))
            return EIGHTFOLD_REJECTED;
        shape[axis] = size == 1 ? other : size;
        count *= (size_t)shape[axis];
    }
    for (i = 0; i < count; i++)
        output[i] = eightfold_binary_code(binary, a[place(i, rank, shape, a_shape)],
                                          b[place(i, rank, shape, b_shape)]);
    return EIGHTFOLD_OK;
}
