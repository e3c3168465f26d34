/* SPDX-License-Identifier: Apache-2.0
 *
 * AVERAGE_POOL_2D and MAX_POOL_2D: eightfold.golden.pooling.
 */
#include "eightfold_golden.h"

/* One axis of one window: its positions inside the image, [first, stop). */
typedef struct span {
    int64_t first;
    int64_t stop;
} span;

static span inside(const eightfold_window_axis *axis, enum eightfold_padding padding,
                   int32_t size, int64_t window)
{
    const int64_t first =
        window * axis->stride - eightfold_window_pad_before(axis, padding, size);
    span result;

    result.first = first > 0 ? first : 0;
    result.stop = first + axis->kernel < size ? first + axis->kernel : size;
    return result;
}

/* The mean, half away, or the largest of the codes of one channel, `step` bytes apart. */
static int32_t pooled(int average, const int8_t *codes, const eightfold_image *image, span rows,
                      span columns)
{
    const int64_t count = (rows.stop - rows.first) * (columns.stop - columns.first);
    int64_t total = 0, y, x;
    int32_t largest = -128;

    for (y = rows.first; y < rows.stop; y++)
        for (x = columns.first; x < columns.stop; x++) {
            const int32_t code = codes[((size_t)y * (size_t)image->width + (size_t)x) *
                                       (size_t)image->channels];

            total += code;
            largest = code > largest ? code : largest;
        }
    if (!average)
        return largest;
    /* Division truncates, so that the half has the sign of the total. */
    return (int32_t)((total + (total > 0 ? count / 2 : -(count / 2))) / count);
}

static enum eightfold_status pool(int average, const eightfold_image *image,
                                  const int8_t *EIGHTFOLD_RESTRICT input,
                                  const eightfold_window *window,
                                  enum eightfold_activation activation,
                                  const eightfold_quantization *out,
                                  int8_t *EIGHTFOLD_RESTRICT output)
{
    const size_t pixels = (size_t)image->height * (size_t)image->width;
    enum eightfold_status status = eightfold_check_window(window, image);
    int32_t low = 0, high = 0, batch, c;
    int64_t down, across, y, x;

    if (status == EIGHTFOLD_OK)
        status = eightfold_fused_bounds(activation, out, &low, &high);
    if (status != EIGHTFOLD_OK)
        return status;
    if (window->vertical.dilation != 1 || window->horizontal.dilation != 1)
        return EIGHTFOLD_REJECTED;
    down = eightfold_window_outputs(&window->vertical, window->padding, image->height);
    across = eightfold_window_outputs(&window->horizontal, window->padding, image->width);
    for (batch = 0; batch < image->batches; batch++)
        for (y = 0; y < down; y++)
            for (x = 0; x < across; x++) {
                const span rows = inside(&window->vertical, window->padding, image->height, y);
                const span columns =
                    inside(&window->horizontal, window->padding, image->width, x);

                for (c = 0; c < image->channels; c++) {
                    const int8_t *codes =
                        input + (size_t)batch * pixels * (size_t)image->channels + (size_t)c;

                    *output++ = eightfold_to_code(pooled(average, codes, image, rows, columns),
                                                  0, low, high);
                }
            }
    return EIGHTFOLD_OK;
}

enum eightfold_status eightfold_average_pool_2d(const eightfold_image *image,
                                                const int8_t *EIGHTFOLD_RESTRICT input,
                                                const eightfold_window *window,
                                                enum eightfold_activation activation,
                                                const eightfold_quantization *output_quantization,
                                                int8_t *EIGHTFOLD_RESTRICT output)
{
    return pool(1, image, input, window, activation, output_quantization, output);
}

enum eightfold_status eightfold_max_pool_2d(const eightfold_image *image,
                                            const int8_t *EIGHTFOLD_RESTRICT input,
                                            const eightfold_window *window,
                                            enum eightfold_activation activation,
                                            const eightfold_quantization *output_quantization,
                                            int8_t *EIGHTFOLD_RESTRICT output)
{
    return pool(0, image, input, window, activation, output_quantization, output);
}
