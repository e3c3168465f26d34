// SPDX-License-Identifier: Apache-2.0
//
// The scalar functions of eightfold_golden.h for SystemVerilog, by DPI-C: compile the C files with
// the simulator's own options and import this package. The header says what each computes, and
// which arguments are out of range.
package eightfold_golden_pkg;

  // How a right shift rounds.
  typedef enum int {
    EIGHTFOLD_HALF_AWAY   = 0,
    EIGHTFOLD_HALF_UP     = 1,
    EIGHTFOLD_HALF_DOWN   = 2,
    EIGHTFOLD_HALF_EVEN   = 3,
    EIGHTFOLD_TOWARD_ZERO = 4,
    EIGHTFOLD_DOWN        = 5,
    EIGHTFOLD_UP          = 6
  } eightfold_rounding_e;

  // What eightfold_requantize returns for arguments out of range: no int8.
  typedef enum int { EIGHTFOLD_REFUSED = 32'sh8000_0000 } eightfold_refused_e;

  import "DPI-C" pure function int eightfold_wrap32(input longint x);

  import "DPI-C" pure function longint eightfold_rounding_shift(
    input longint x, input int e, input int rounding);

  import "DPI-C" pure function int eightfold_srdhm(input int a, input int b);

  import "DPI-C" pure function int eightfold_rounding_divide_by_pot(input int x, input int e);

  import "DPI-C" pure function int eightfold_multiply_by_quantized_multiplier(
    input int x, input int multiplier, input int shift);

  import "DPI-C" pure function int eightfold_multiply_by_quantized_multiplier_single(
    input int x, input int multiplier, input int shift);

  // 0 if d is finite; nothing is written otherwise.
  import "DPI-C" function int eightfold_quantize_multiplier(
    input real d, output int multiplier, output int shift);

  // An int8, or EIGHTFOLD_REFUSED.
  import "DPI-C" pure function int eightfold_requantize(
    input int acc, input int bias, input int left, input int multiplier, input int single,
    input int right, input int rounding, input int zero_point, input int low, input int high);

endpackage
