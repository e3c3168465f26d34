/* SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of LiteRT's int8 reference kernels in C99, for C models and for DPI-C.
 *
 * Bit for bit what `eightfold.golden` computes in numpy, which is the specification; its page is
 * docs/numerics.md, this library's docs/golden-c.md. The sources need the C standard library and
 * its mathematics (link with -lm), nothing else; C++ compilers take them too. No function
 * allocates, keeps a state, or reads or writes a global: all may be called from several threads.
 *
 * Words. A *code* is an int8 that stands for `scale * (code - zero_point)`. `wrap32(x)` is x
 * modulo 2^32 in [-2^31, 2^31). A *multiplier pair* (m, shift) stands for m * 2^(shift - 31); a
 * positive shift is a left shift. Rounding "half away" is to nearest, ties away from zero; "half
 * up", ties toward +infinity. Images are NHWC: (batches, height, width, channels), the last index
 * fastest.
 *
 * Arguments out of range are never undefined behaviour, unless a pointer or the size of a buffer
 * is wrong. A function with a status says what it refuses; its output is unspecified then. What
 * the others return is written at each.
 */
#ifndef EIGHTFOLD_GOLDEN_H
#define EIGHTFOLD_GOLDEN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define EIGHTFOLD_RESTRICT __restrict
extern "C" {
#else
#define EIGHTFOLD_RESTRICT restrict
#endif

/* What the reference kernels do with arguments, as the errors of eightfold.golden.errors. */
enum eightfold_status {
    EIGHTFOLD_OK = 0,
    EIGHTFOLD_REJECTED = 1,   /* the reference's preparation returns an error */
    EIGHTFOLD_ABORTED = 2,    /* a check in the reference's kernel ends the process */
    EIGHTFOLD_UNDEFINED = 3,  /* C++ leaves undefined what the reference computes */
    EIGHTFOLD_UNSUPPORTED = 4 /* golden computes it, this library does not */
};

/* Whose arithmetic, where LiteRT's reference kernels and TFLite Micro's differ. */
enum eightfold_reference { EIGHTFOLD_LITERT = 0, EIGHTFOLD_TFLM = 1 };

/* ---- Fixed-point primitives: eightfold_fixed_point.c ------------------------------------- */

/* How a right shift rounds v = x / 2^e to an integer. */
enum eightfold_rounding {
    EIGHTFOLD_HALF_AWAY = 0,   /* nearest, ties away from zero */
    EIGHTFOLD_HALF_UP = 1,     /* nearest, ties toward +infinity */
    EIGHTFOLD_HALF_DOWN = 2,   /* nearest, ties toward -infinity */
    EIGHTFOLD_HALF_EVEN = 3,   /* nearest, ties to even */
    EIGHTFOLD_TOWARD_ZERO = 4, /* truncated */
    EIGHTFOLD_DOWN = 5,        /* floor */
    EIGHTFOLD_UP = 6           /* ceiling */
};

/* x modulo 2^32, in [-2^31, 2^31); any x. */
int32_t eightfold_wrap32(int64_t x);

/* x / 2^e, rounded: any x, 0 <= e <= 62; e = 0 returns x in every mode. `rounding` is one of
 * enum eightfold_rounding. 0 if e or rounding is out of range. */
int64_t eightfold_rounding_shift(int64_t x, int32_t e, int32_t rounding);

/* Saturating rounding doubling high multiply, SRDHM: floor((a * b + 2^30) / 2^31), so ties go
 * toward +infinity. a = b = -2^31, the only product that does not fit, gives 2^31 - 1. */
int32_t eightfold_srdhm(int32_t a, int32_t b);

/* x / 2^e, half away, 0 <= e <= 31. 0 if e is out of range. */
int32_t eightfold_rounding_divide_by_pot(int32_t x, int32_t e);

/* x * m * 2^(shift - 31) with two roundings, as the reference kernels:
 *     rounding_divide_by_pot(srdhm(wrap32(x * 2^max(shift, 0)), m), max(-shift, 0))
 * Any x and m, -31 <= shift <= 31. The left shift wraps silently. 0 if shift is out of range. */
int32_t eightfold_multiply_by_quantized_multiplier(int32_t x, int32_t multiplier, int32_t shift);

/* The same with one rounding, as TFLite built with TFLITE_SINGLE_ROUNDING:
 *     wrap32(floor((x * m + 2^(30 - shift)) / 2^(31 - shift)))
 * Any x and m, -31 <= shift <= 30. 0 if shift is out of range. */
int32_t eightfold_multiply_by_quantized_multiplier_single(int32_t x, int32_t multiplier,
                                                          int32_t shift);

/* The multiplier pair of a real d = f * 2^shift, 0.5 <= |f| < 1: m = round(f * 2^31), half away;
 * an m of 2^31 becomes 2^30 with shift + 1; a shift below -31 becomes (0, 0). So |m| is 0 or in
 * [2^30, 2^31); a negative d gives a negative m; the shift is not limited above.
 * EIGHTFOLD_UNDEFINED if d is not finite: nothing is written then. */
enum eightfold_status eightfold_quantize_multiplier(double d, int32_t *multiplier,
                                                    int32_t *shift);

/* The same for 0 < d < 1, with shift <= 0. EIGHTFOLD_ABORTED for another d, and for one that
 * rounds to 1. */
enum eightfold_status eightfold_quantize_multiplier_smaller_than_one(double d,
                                                                     int32_t *multiplier,
                                                                     int32_t *shift);

/* ---- Requantization: eightfold_requantize.c ---------------------------------------------- */

/* What eightfold_requantize returns for arguments out of range: no int8. */
#define EIGHTFOLD_REFUSED INT32_MIN

/* The requantizer, one accumulator to a code. With x = wrap32(wrap32(acc + bias) * 2^left):
 *     single = 0   y = srdhm(x, multiplier), z = y / 2^right rounded as `rounding` says,
 *                  v = wrap32(z + zero_point)
 *     single = 1   z = x * multiplier / 2^right rounded, in 64 bits, v = z + zero_point
 * and the result is v clamped to [low, high], in -128..127.
 *
 * TFLite's pair (m, shift) is left = max(shift, 0), right = max(-shift, 0), half away. With
 * TFLITE_SINGLE_ROUNDING it is single = 1, right = 31 - shift, half up (and wraps where v leaves
 * int32, which this function clamps).
 *
 * acc, bias: any. multiplier: 0..2^31-1. left: 0..30. single: 0 or 1. right: 0..31, with single
 * 0..62. rounding: enum eightfold_rounding. zero_point, low, high: -128..127, low <= high.
 * EIGHTFOLD_REFUSED if one of them is out of range. */
int32_t eightfold_requantize(int32_t acc, int32_t bias, int32_t left, int32_t multiplier,
                             int32_t single, int32_t right, int32_t rounding,
                             int32_t zero_point, int32_t low, int32_t high);

/* ---- Scales and zero points: eightfold_quantization.c ------------------------------------ */

/* Of a tensor of codes: real = scale * (code - zero_point). All functions that take one refuse
 * a scale that is not finite or not above 0 (EIGHTFOLD_UNDEFINED), and a zero point outside
 * -128..127 (EIGHTFOLD_UNSUPPORTED; SUB: EIGHTFOLD_REJECTED). */
typedef struct eightfold_quantization {
    float scale;
    int32_t zero_point;
} eightfold_quantization;

enum eightfold_activation {
    EIGHTFOLD_NONE = 0,
    EIGHTFOLD_RELU = 1,         /* 0 and above */
    EIGHTFOLD_RELU_N1_TO_1 = 2, /* -1..1 */
    EIGHTFOLD_RELU6 = 3,        /* 0..6 */
    EIGHTFOLD_RELU_0_TO_1 = 4   /* 0..1; an operator only: fused to another it does not clamp */
};

/* The codes [*low, *high] of an activation's real bounds: zero_point + round(bound / scale), in
 * float, half away, within [-128, 127]; where there is no bound, the end of int8.
 * EIGHTFOLD_REJECTED if round(bound / scale) leaves int32. */
enum eightfold_status eightfold_activation_bounds(enum eightfold_activation activation,
                                                  const eightfold_quantization *output,
                                                  int32_t *low, int32_t *high);

/* The same for an activation fused to an operator: any but NONE, RELU, RELU_N1_TO_1 and RELU6
 * does not clamp. */
enum eightfold_status eightfold_fused_bounds(enum eightfold_activation activation,
                                             const eightfold_quantization *output, int32_t *low,
                                             int32_t *high);

/* A multiplier pair of a real multiplier, as an operator uses it: as
 * eightfold_quantize_multiplier, and EIGHTFOLD_UNDEFINED if its shift is above 31. */
enum eightfold_status eightfold_usable_multiplier(double d, int32_t *multiplier, int32_t *shift);

/* EIGHTFOLD_OK, or what is wrong with a tensor's scale or zero point. */
enum eightfold_status eightfold_check_quantization(const eightfold_quantization *quantization);

/* wrap32(scaled + zero_point), clamped to [low, high]: how every operator ends. */
int8_t eightfold_to_code(int32_t scaled, int32_t zero_point, int32_t low, int32_t high);

/* ---- Functions of one byte, as tables: eightfold_tables.c, eightfold_sigmoids.c ---------- */

/* table[code & 255] is the result for a code, so the negative ones are in the upper half. */
#define EIGHTFOLD_TABLE 256

/* output[i] = table[input[i] & 255]; output may be input. */
void eightfold_look_up(const int8_t *table, const int8_t *input, size_t count, int8_t *output);

/* QUANTIZE of int8 to int8: MBQM(code - z_in, pair of s_in / s_out in double) + z_out, clamped.
 * EIGHTFOLD_UNDEFINED if the pair's shift is above 31. */
enum eightfold_status eightfold_quantize_table(const eightfold_quantization *input,
                                               const eightfold_quantization *output,
                                               int8_t *table);

/* RELU, RELU6, RELU_N1_TO_1 and RELU_0_TO_1 as operators of their own: rescaled by
 * s_in / s_out in float, then clamped to the codes of the real bounds. TFLite Micro's RELU6 never
 * rescales: it clamps the code to the bounds' codes on the input.
 * EIGHTFOLD_UNDEFINED if a bound leaves int32 or the pair's shift is above 31;
 * EIGHTFOLD_REJECTED for NONE. */
enum eightfold_status eightfold_relu_table(enum eightfold_activation activation,
                                           enum eightfold_reference reference,
                                           const eightfold_quantization *input,
                                           const eightfold_quantization *output, int8_t *table);

/* LEAKY_RELU: s_in / s_out at and above the zero point, s_in * alpha / s_out below, both in
 * float. EIGHTFOLD_UNDEFINED if alpha is not finite or a pair's shift is above 31. */
enum eightfold_status eightfold_leaky_relu_table(float alpha, const eightfold_quantization *input,
                                                 const eightfold_quantization *output,
                                                 int8_t *table);

/* LOGISTIC, 1 / (1 + exp(-x)), and TANH.
 *
 * EIGHTFOLD_LITERT: round(g(s_in * (code - z_in)) * (1 / s_out)) + z_out in float, half away,
 * clamped. exp and tanh are those of double, rounded to float, as golden computes them: libraries
 * whose double functions are off by less than a unit in the last place all agree, unless the
 * exact value lies within that unit of the middle between two floats, about one argument in 2^28.
 * EIGHTFOLD_REJECTED: LOGISTIC whose output scale is not 1/256. EIGHTFOLD_UNDEFINED: an entry
 * leaves int32 before the clamp.
 *
 * EIGHTFOLD_TFLM: gemmlowp's fixed point, integers only but for the input's multiplier. The
 * output is taken for (1/256, -128), TANH's for (1/128, 0), whatever it is.
 * EIGHTFOLD_UNDEFINED: an input scale below 2^-28, except those below 2^-59. */
enum eightfold_status eightfold_logistic_table(enum eightfold_reference reference,
                                               const eightfold_quantization *input,
                                               const eightfold_quantization *output,
                                               int8_t *table);
enum eightfold_status eightfold_tanh_table(enum eightfold_reference reference,
                                           const eightfold_quantization *input,
                                           const eightfold_quantization *output, int8_t *table);

/* ---- ADD, SUB, MUL: eightfold_binary.c --------------------------------------------------- */

enum eightfold_binary_operator { EIGHTFOLD_ADD = 0, EIGHTFOLD_SUB = 1, EIGHTFOLD_MUL = 2 };

/* What eightfold_prepare_binary derives from scales, zero points and activation. */
typedef struct eightfold_binary {
    enum eightfold_binary_operator name;
    int32_t zero_points[2];
    int32_t multipliers[2]; /* of ADD and SUB: to the operands' common scale */
    int32_t shifts[2];
    int32_t multiplier; /* to the output's scale */
    int32_t shift;
    int32_t zero_point;
    int32_t low;
    int32_t high;
} eightfold_binary;

/* ADD, SUB: with t = 2 * max(s_a, s_b), the pairs of s_a / t, s_b / t and t / (2^20 * s_out), in
 * double. EIGHTFOLD_ABORTED if one rounds to 1, and for ADD above 1; SUB above 1 is
 * EIGHTFOLD_UNDEFINED.
 * MUL: the pair of s_a * s_b / s_out, each step in float; for EIGHTFOLD_TFLM in double.
 * EIGHTFOLD_UNDEFINED if its shift is above 31. */
enum eightfold_status eightfold_prepare_binary(eightfold_binary *binary,
                                               enum eightfold_binary_operator name,
                                               enum eightfold_reference reference,
                                               const eightfold_quantization *a,
                                               const eightfold_quantization *b,
                                               const eightfold_quantization *output,
                                               enum eightfold_activation activation);

/* One element. ADD, SUB: clamp(MBQM(MBQM((a - z_a) * 2^20) +- MBQM((b - z_b) * 2^20)) + z_out);
 * MUL: clamp(MBQM((a - z_a) * (b - z_b)) + z_out). */
int8_t eightfold_binary_code(const eightfold_binary *binary, int8_t a, int8_t b);

/* All elements, with broadcasting: both shapes have `rank` sizes, 0 <= rank <= 8, each pair
 * equal or one of them 1; a shorter shape is filled up with sizes of 1 in front. The output, of
 * the larger size of each pair, must not overlap the inputs. Operands of equal shape may be
 * given as rank 1. EIGHTFOLD_REJECTED if the shapes do not fit; EIGHTFOLD_ABORTED if the rank is
 * above 8. A size of 0 leaves nothing to do. */
enum eightfold_status eightfold_binary_broadcast(const eightfold_binary *binary, int32_t rank,
                                                 const int32_t *a_shape, const int8_t *a,
                                                 const int32_t *b_shape, const int8_t *b,
                                                 int8_t *output);

/* ---- Windows over images: eightfold_windows.c -------------------------------------------- */

enum eightfold_padding { EIGHTFOLD_SAME = 0, EIGHTFOLD_VALID = 1 };

typedef struct eightfold_window_axis {
    int32_t kernel;
    int32_t stride;
    int32_t dilation;
} eightfold_window_axis;

typedef struct eightfold_window {
    eightfold_window_axis vertical;
    eightfold_window_axis horizontal;
    enum eightfold_padding padding;
} eightfold_window;

typedef struct eightfold_image {
    int32_t batches;
    int32_t height;
    int32_t width;
    int32_t channels;
} eightfold_image;

/* Number of windows along one axis of `size` positions. With extent = (kernel - 1) * dilation + 1:
 * SAME ceil(size / stride), VALID floor((size - extent) / stride) + 1. 0 if there is none, or if
 * a size, kernel, stride or dilation is below 1. */
int64_t eightfold_window_outputs(const eightfold_window_axis *axis,
                                 enum eightfold_padding padding, int32_t size);

/* Positions that the first window reaches beyond the image's beginning: half, rounded down, of
 * max(0, (outputs - 1) * stride + extent - size). */
int64_t eightfold_window_pad_before(const eightfold_window_axis *axis,
                                    enum eightfold_padding padding, int32_t size);

/* EIGHTFOLD_OK, or why the window does not fit the image: EIGHTFOLD_REJECTED for a stride or
 * dilation below 1, EIGHTFOLD_UNDEFINED for an empty kernel or image, or no window inside. */
enum eightfold_status eightfold_check_window(const eightfold_window *window,
                                             const eightfold_image *image);

/* ---- Operators with weights: eightfold_convolution.c, eightfold_fully_connected.c -------- */

typedef struct eightfold_filter {
    const int8_t *codes;
    int32_t outputs;     /* output channels */
    int32_t depth;       /* input channels of one output; DEPTHWISE_CONV_2D does not read it */
    const float *scales; /* one, or one for each output; 0 is allowed */
    int32_t scale_count; /* 1 or outputs */
    int32_t zero_point;  /* DEPTHWISE_CONV_2D does not read it */
} eightfold_filter;

/* CONV_2D: acc = wrap32(sum of w * (x - z_in) over the taps inside the image, + bias), then for
 * output channel c MBQM(acc, pair of s_in * s_w[c] / s_out in double), zero point and clamp.
 *
 * input: `image`. filter->codes: (outputs, kernel height, kernel width, depth). The image's
 * channels are groups of `depth`; output channel c reads group c / (outputs / groups). bias:
 * `outputs` of them. output: (batches, windows down, windows across, outputs), must not overlap.
 * EIGHTFOLD_REJECTED without bias, for a filter zero point that is not 0, for channels or numbers
 * of scales that do not fit; EIGHTFOLD_UNDEFINED for a scale that is negative or not finite, or a
 * shift above 31; and as eightfold_check_window. */
enum eightfold_status eightfold_conv_2d(const eightfold_image *image, const int8_t *input,
                                        const eightfold_quantization *input_quantization,
                                        const eightfold_filter *filter, const int32_t *bias,
                                        const eightfold_window *window,
                                        enum eightfold_activation activation,
                                        const eightfold_quantization *output_quantization,
                                        int8_t *output);

/* DEPTHWISE_CONV_2D: the same with one input channel for each output; output channel c reads
 * input channel c / (outputs / channels). filter->codes: (kernel height, kernel width, outputs).
 * bias may be NULL, for 0. */
enum eightfold_status eightfold_depthwise_conv_2d(
    const eightfold_image *image, const int8_t *input,
    const eightfold_quantization *input_quantization, const eightfold_filter *filter,
    const int32_t *bias, const eightfold_window *window, enum eightfold_activation activation,
    const eightfold_quantization *output_quantization, int8_t *output);

/* FULLY_CONNECTED: acc = wrap32(sum of (w - z_w) * (x - z_in), + bias), and
 *     EIGHTFOLD_LITERT   round(acc * (s_in * s_w[c] / s_out)) in double, half away
 *     EIGHTFOLD_TFLM     MBQM(acc, pair of s_in * s_w[c] / s_out); the product of s_in and a
 *                        single s_w is in float, all else in double
 * then zero point and clamp. Several filter scales ignore the filter's zero point.
 *
 * input: (rows, filter->depth). filter->codes: (outputs, depth). bias: `outputs`, or NULL for 0.
 * output: (rows, outputs), must not overlap. EIGHTFOLD_REJECTED for RELU_0_TO_1 and a number of
 * scales that does not fit; EIGHTFOLD_UNDEFINED for a scale that is negative or not finite, a
 * shift above 31, or (LITERT) a scaled accumulator that leaves int32. */
enum eightfold_status eightfold_fully_connected(enum eightfold_reference reference, int32_t rows,
                                                const int8_t *input,
                                                const eightfold_quantization *input_quantization,
                                                const eightfold_filter *filter,
                                                const int32_t *bias,
                                                enum eightfold_activation activation,
                                                const eightfold_quantization *output_quantization,
                                                int8_t *output);

/* ---- Pools: eightfold_pooling.c ---------------------------------------------------------- */

/* AVERAGE_POOL_2D: the mean of the codes inside the image, half away, clamped to the codes of the
 * activation on the output. MAX_POOL_2D: the largest code, clamped. Neither rescales, whatever
 * the input's scale is, which is therefore no argument.
 * output: (batches, windows down, windows across, channels), must not overlap.
 * EIGHTFOLD_REJECTED for a dilation other than 1; and as eightfold_check_window. */
enum eightfold_status eightfold_average_pool_2d(const eightfold_image *image, const int8_t *input,
                                                const eightfold_window *window,
                                                enum eightfold_activation activation,
                                                const eightfold_quantization *output_quantization,
                                                int8_t *output);
enum eightfold_status eightfold_max_pool_2d(const eightfold_image *image, const int8_t *input,
                                            const eightfold_window *window,
                                            enum eightfold_activation activation,
                                            const eightfold_quantization *output_quantization,
                                            int8_t *output);

/* ---- Reductions: eightfold_reduction.c --------------------------------------------------- */

/* MEAN and SUM over the axes whose bits are set in `axes` (bit 0 is the first axis).
 *
 * acc = wrap32(sum of codes - z_in * count), then MBQM, zero point, clamp. SUM's pair is that of
 * s_in / s_out in double. MEAN's has the division folded in: with k = min(floor(log2(count)), 32,
 * 31 + shift), m * 2^k / count truncated and shift - k. LiteRT's own int8 SUM reads its codes as
 * uint8; this is the intended arithmetic, TFLite Micro's.
 *
 * input: `shape`, 0 <= rank <= 8. output: the sizes that are not reduced, in their order; must
 * not overlap. EIGHTFOLD_REJECTED for a bit at or above rank; EIGHTFOLD_UNSUPPORTED for a rank
 * above 8; EIGHTFOLD_UNDEFINED for a size below 1, or a shift above 31. */
enum eightfold_status eightfold_mean(int32_t rank, const int32_t *shape, uint32_t axes,
                                     const int8_t *input,
                                     const eightfold_quantization *input_quantization,
                                     const eightfold_quantization *output_quantization,
                                     int8_t *output);
enum eightfold_status eightfold_sum(int32_t rank, const int32_t *shape, uint32_t axes,
                                    const int8_t *input,
                                    const eightfold_quantization *input_quantization,
                                    const eightfold_quantization *output_quantization,
                                    int8_t *output);

#ifdef __cplusplus
}
#endif

#endif /* EIGHTFOLD_GOLDEN_H */
