#ifndef EIGHTFOLD_CONVERT_H
#define EIGHTFOLD_CONVERT_H

#include <stddef.h>
#include <stdint.h>

#ifndef EIGHTFOLD_CONVERSIONS /* the driver has them too */
#define EIGHTFOLD_CONVERSIONS
/* QUANTIZE of float32, equal to LiteRT's reference kernel in every bit: the codes
 * clamp(round(x / scale) + zero_point, low, high), with ties away from zero, as bytes. low and high
 * are -128 and 127 for int8, 0 and 255 for uint8. Returns how many values have no code: they are
 * not a number, or round(x / scale) leaves int32, which the kernel leaves undefined. Their bytes
 * stay as they were. To be compiled without -ffast-math.
 */
static inline size_t eightfold_quantize(const float *values, size_t count, float scale,
                                        int32_t zero_point, int32_t low, int32_t high,
                                        uint8_t *codes)
{
    size_t refused = 0, i;

    for (i = 0; i < count; i++) {
        const float steps = values[i] / scale;
        int64_t code;
        float rest;

        if (!(steps >= -2147483648.0f && steps < 2147483648.0f)) {
            refused++;
            continue;
        }
        code = (int64_t)steps;
        rest = steps - (float)code;
        code += (rest >= 0.5f) - (rest <= -0.5f) + zero_point;
        if (code > INT32_MAX) /* the kernel adds in int32 */
            code -= (int64_t)1 << 32;
        else if (code < INT32_MIN)
            code += (int64_t)1 << 32;
        codes[i] = (uint8_t)(code < low ? low : code > high ? high : code);
    }
    return refused;
}

/* DEQUANTIZE to float32, equal to LiteRT's reference kernel in every bit:
 * scale * (code - zero_point), with one rounding. low is -128 for int8, 0 for uint8.
 */
static inline void eightfold_dequantize(const uint8_t *codes, size_t count, float scale,
                                        int32_t zero_point, int32_t low, float *values)
{
    size_t i;

    for (i = 0; i < count; i++) {
        const int32_t code = low < 0 && codes[i] > 127 ? codes[i] - 256 : codes[i];

        values[i] = (float)((double)scale * (code - zero_point));
    }
}
#endif /* EIGHTFOLD_CONVERSIONS */

#endif /* EIGHTFOLD_CONVERT_H */
