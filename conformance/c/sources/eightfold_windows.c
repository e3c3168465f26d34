/* SPDX-License-Identifier: Apache-2.0
 *
 * Sliding windows over images: eightfold.golden.windows.
 */
#include "eightfold_golden.h"

static int64_t extent(const eightfold_window_axis *axis)
{
    return (int64_t)(axis->kernel - 1) * axis->dilation + 1;
}

int64_t eightfold_window_outputs(const eightfold_window_axis *axis,
                                 enum eightfold_padding padding, int32_t size)
{
    if (size < 1 || axis->kernel < 1 || axis->stride < 1 || axis->dilation < 1)
        return 0;
    if (padding == EIGHTFOLD_SAME)
        return ((int64_t)size + axis->stride - 1) / axis->stride;
    return size < extent(axis) ? 0 : (size - extent(axis)) / axis->stride + 1;
}

int64_t eightfold_window_pad_before(const eightfold_window_axis *axis,
                                    enum eightfold_padding padding, int32_t size)
{
    const int64_t outputs = eightfold_window_outputs(axis, padding, size);
    const int64_t missing =
        outputs > 0 ? (outputs - 1) * axis->stride + extent(axis) - size : 0;

    return missing > 0 ? missing / 2 : 0;
}

static enum eightfold_status check_axis(const eightfold_window_axis *axis,
                                        enum eightfold_padding padding, int32_t size)
{
    if (axis->stride < 1 || axis->dilation < 1)
        return EIGHTFOLD_REJECTED;
    return eightfold_window_outputs(axis, padding, size) > 0 ? EIGHTFOLD_OK
                                                             : EIGHTFOLD_UNDEFINED;
}

enum eightfold_status eightfold_check_window(const eightfold_window *window,
                                             const eightfold_image *image)
{
    const enum eightfold_status down =
        check_axis(&window->vertical, window->padding, image->height);
    const enum eightfold_status across =
        check_axis(&window->horizontal, window->padding, image->width);

    if (window->padding != EIGHTFOLD_SAME && window->padding != EIGHTFOLD_VALID)
        return EIGHTFOLD_REJECTED;
    if (down != EIGHTFOLD_OK || across != EIGHTFOLD_OK)
        return down == EIGHTFOLD_REJECTED || across == EIGHTFOLD_OK ? down : across;
    return image->batches < 1 || image->channels < 1 ? EIGHTFOLD_UNDEFINED : EIGHTFOLD_OK;
}
