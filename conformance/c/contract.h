/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

/* The int8 result: multiplier 0 or more, shift -31 to 30, positive to the left,
   zero_point, low and high int8, low at most high. */
int8_t eightfold_contract(int32_t acc, int32_t multiplier, int32_t shift,
                          int32_t zero_point, int32_t low, int32_t high);
