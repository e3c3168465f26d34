/* The scalar functions over arrays: what the tests call, a million values at a time.
 *
 * The fixed-point functions behind TFLite Micro's LOGISTIC and TANH are not public, and their
 * tables show the upper 8 of 32 bits: so their file is a part of this one.
 */
#include "eightfold_sigmoids.c"

void loop_fixed_logistic(size_t n, const int64_t *a, int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = fixed_logistic(a[i]);
}

void loop_fixed_tanh(size_t n, const int64_t *a, int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = fixed_tanh(a[i]);
}

void loop_wrap32(size_t n, const int64_t *x, int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = eightfold_wrap32(x[i]);
}

void loop_rounding_shift(size_t n, const int64_t *x, const int64_t *e, const int64_t *rounding,
                         int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = eightfold_rounding_shift(x[i], (int32_t)e[i], (int32_t)rounding[i]);
}

void loop_srdhm(size_t n, const int64_t *a, const int64_t *b, int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = eightfold_srdhm((int32_t)a[i], (int32_t)b[i]);
}

void loop_rounding_divide_by_pot(size_t n, const int64_t *x, const int64_t *e, int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = eightfold_rounding_divide_by_pot((int32_t)x[i], (int32_t)e[i]);
}

void loop_multiply(size_t n, const int64_t *x, const int64_t *m, const int64_t *shift,
                   int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = eightfold_multiply_by_quantized_multiplier((int32_t)x[i], (int32_t)m[i],
                                                            (int32_t)shift[i]);
}

void loop_multiply_single(size_t n, const int64_t *x, const int64_t *m, const int64_t *shift,
                          int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = eightfold_multiply_by_quantized_multiplier_single((int32_t)x[i], (int32_t)m[i],
                                                                   (int32_t)shift[i]);
}

void loop_quantize_multiplier(size_t n, const double *d, int64_t *status, int64_t *m,
                              int64_t *shift)
{
    for (size_t i = 0; i < n; i++) {
        int32_t multiplier = 0, exponent = 0;

        status[i] = eightfold_quantize_multiplier(d[i], &multiplier, &exponent);
        m[i] = multiplier;
        shift[i] = exponent;
    }
}

/* `fields` are ten arrays, one after the other, in the order of eightfold_requantize. */
void loop_requantize(size_t n, const int64_t *fields, int64_t *out)
{
    for (size_t i = 0; i < n; i++) {
        int32_t f[10];

        for (int k = 0; k < 10; k++)
            f[k] = (int32_t)fields[(size_t)k * n + i];
        out[i] = eightfold_requantize(f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9]);
    }
}
