/* SPDX-License-Identifier: Apache-2.0
 *
 * CONV_2D and DEPTHWISE_CONV_2D: eightfold.golden.convolution.
 */
#include "eightfold_golden.h"

#include <math.h>

/* Where the bytes of one output channel lie: a tap's bytes of input and filter follow one another
 * `depth` long, taps of the filter `step` bytes apart. */
typedef struct channel {
    const int8_t *input; /* the first input channel that is read, at the image's first pixel */
    const int8_t *filter;
    int32_t depth;
    int32_t step;
    int32_t zero_point;
} channel;

/* wrap32(sum of w * (x - z) over the taps of one window inside the image), as its 32 bits. */
static uint32_t window_sum(const channel *from, const eightfold_image *image,
                           const eightfold_window *window, int32_t batch, int64_t top,
                           int64_t left)
{
    uint32_t sum = 0;
    int32_t row, column, i;

    for (row = 0; row < window->vertical.kernel; row++) {
        const int64_t y = top + (int64_t)row * window->vertical.dilation;

        if (y < 0 || y >= image->height)
            continue;
        for (column = 0; column < window->horizontal.kernel; column++) {
            const int64_t x = left + (int64_t)column * window->horizontal.dilation;
            const size_t tap = (size_t)row * (size_t)window->horizontal.kernel + (size_t)column;
            const int8_t *weights = from->filter + tap * (size_t)from->step;
            const int8_t *codes;

            if (x < 0 || x >= image->width)
                continue;
            codes = from->input + (((size_t)batch * (size_t)image->height + (size_t)y) *
                                       (size_t)image->width + (size_t)x) *
                                      (size_t)image->channels;
            for (i = 0; i < from->depth; i++)
                sum += (uint32_t)(weights[i] * (codes[i] - from->zero_point));
        }
    }
    return sum;
}

/* EIGHTFOLD_OK, or what is wrong with the filter's scales for this input and output. */
static enum eightfold_status check_scales(const eightfold_filter *filter, float input,
                                          float output)
{
    int32_t i, multiplier, shift;

    if (filter->outputs < 1 || (filter->scale_count != 1 && filter->scale_count != filter->outputs))
        return EIGHTFOLD_REJECTED;
    for (i = 0; i < filter->scale_count; i++) {
        const float scale = filter->scales[i];

        if (!isfinite(scale) || scale < 0.0f ||
            eightfold_usable_multiplier((double)input * (double)scale / (double)output,
                                        &multiplier, &shift) != EIGHTFOLD_OK)
            return EIGHTFOLD_UNDEFINED;
    }
    return EIGHTFOLD_OK;
}

/* All windows, for one output channel. */
static void convolve_channel(const channel *from, const eightfold_image *image,
                             const eightfold_window *window, uint32_t bias, double scale,
                             int32_t zero_point, int32_t low, int32_t high, size_t outputs,
                             int8_t *EIGHTFOLD_RESTRICT output)
{
    const int64_t down =
        eightfold_window_outputs(&window->vertical, window->padding, image->height);
    const int64_t across =
        eightfold_window_outputs(&window->horizontal, window->padding, image->width);
    const int64_t top =
        -eightfold_window_pad_before(&window->vertical, window->padding, image->height);
    const int64_t left =
        -eightfold_window_pad_before(&window->horizontal, window->padding, image->width);
    int32_t multiplier = 0, shift = 0, batch;
    int64_t y, x;

    eightfold_quantize_multiplier(scale, &multiplier, &shift);
    for (batch = 0; batch < image->batches; batch++)
        for (y = 0; y < down; y++)
            for (x = 0; x < across; x++) {
                const uint32_t sum =
                    window_sum(from, image, window, batch, top + y * window->vertical.stride,
                               left + x * window->horizontal.stride);
                const int32_t acc = eightfold_wrap32((int64_t)(sum + bias));

                *output = eightfold_to_code(
                    eightfold_multiply_by_quantized_multiplier(acc, multiplier, shift),
                    zero_point, low, high);
                output += outputs;
            }
}

/* Both operators: `groups` of input channels, or as many as there are for depthwise. */
static enum eightfold_status convolve(int depthwise, const eightfold_image *image,
                                      const int8_t *EIGHTFOLD_RESTRICT input,
                                      const eightfold_quantization *in,
                                      const eightfold_filter *filter,
                                      const int32_t *EIGHTFOLD_RESTRICT bias,
                                      const eightfold_window *window,
                                      enum eightfold_activation activation,
                                      const eightfold_quantization *out,
                                      int8_t *EIGHTFOLD_RESTRICT output)
{
    const int32_t depth = depthwise ? 1 : filter->depth;
    enum eightfold_status status = eightfold_check_window(window, image);
    int32_t low = 0, high = 0, groups, c;
    size_t taps;

    if (status == EIGHTFOLD_OK)
        status = eightfold_check_quantization(in);
    if (status == EIGHTFOLD_OK)
        status = eightfold_fused_bounds(activation, out, &low, &high);
    if (status == EIGHTFOLD_OK)
        status = check_scales(filter, in->scale, out->scale);
    if (status != EIGHTFOLD_OK)
        return status;
    if (depth < 1 || image->channels % depth || filter->outputs % (image->channels / depth))
        return EIGHTFOLD_REJECTED;
    groups = image->channels / depth;
    taps = (size_t)window->vertical.kernel * (size_t)window->horizontal.kernel;
    for (c = 0; c < filter->outputs; c++) {
        const float scale = filter->scales[filter->scale_count == 1 ? 0 : c];
        const size_t first = (size_t)(c / (filter->outputs / groups)) * (size_t)depth;
        channel from;

        from.input = input + first;
        from.filter = filter->codes + (depthwise ? (size_t)c : (size_t)c * taps * (size_t)depth);
        from.depth = depth;
        from.step = depthwise ? filter->outputs : depth;
        from.zero_point = in->zero_point;
        convolve_channel(&from, image, window, bias ? (uint32_t)bias[c] : 0u,
                         (double)in->scale * (double)scale / (double)out->scale, out->zero_point,
                         low, high, (size_t)filter->outputs, output + c);
    }
    return EIGHTFOLD_OK;
}

enum eightfold_status eightfold_conv_2d(const eightfold_image *image,
                                        const int8_t *EIGHTFOLD_RESTRICT input,
                                        const eightfold_quantization *input_quantization,
                                        const eightfold_filter *filter,
                                        const int32_t *EIGHTFOLD_RESTRICT bias,
                                        const eightfold_window *window,
                                        enum eightfold_activation activation,
                                        const eightfold_quantization *output_quantization,
                                        int8_t *EIGHTFOLD_RESTRICT output)
{
    if (!bias || filter->zero_point)
        return EIGHTFOLD_REJECTED;
    return convolve(0, image, input, input_quantization, filter, bias, window, activation,
                    output_quantization, output);
}

enum eightfold_status eightfold_depthwise_conv_2d(
    const eightfold_image *image, const int8_t *EIGHTFOLD_RESTRICT input,
    const eightfold_quantization *input_quantization, const eightfold_filter *filter,
    const int32_t *EIGHTFOLD_RESTRICT bias, const eightfold_window *window,
    enum eightfold_activation activation, const eightfold_quantization *output_quantization,
    int8_t *EIGHTFOLD_RESTRICT output)
{
    return convolve(1, image, input, input_quantization, filter, bias, window, activation,
                    output_quantization, output);
}
