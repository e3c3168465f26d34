// Reads cases from cases.txt, one in a line, calls the imported functions and prints the results.
module dpi_bench;
  import eightfold_golden_pkg::*;

  int acc, bias, left, multiplier, single, right, rounding, zero_point, low, high;
  int file, found, status, m, shift;

  initial begin
    file = $fopen("cases.txt", "r");
    found = $fscanf(file, "%d %d %d %d %d %d %d %d %d %d", acc, bias, left, multiplier, single,
                    right, rounding, zero_point, low, high);
    while (found == 10) begin
      status = eightfold_quantize_multiplier($itor(acc) / 1024.0, m, shift);
      $display("result %0d %0d %0d %0d %0d %0d %0d %0d %0d",
               eightfold_requantize(acc, bias, left, multiplier, single, right, rounding,
                                    zero_point, low, high),
               eightfold_srdhm(acc, multiplier),
               eightfold_rounding_shift(longint'(acc) * longint'(multiplier), right, rounding),
               eightfold_multiply_by_quantized_multiplier(acc, multiplier, left),
               eightfold_multiply_by_quantized_multiplier_single(acc, multiplier, -left),
               eightfold_rounding_divide_by_pot(acc, left),
               status, m, shift);
      found = $fscanf(file, "%d %d %d %d %d %d %d %d %d %d", acc, bias, left, multiplier, single,
                      right, rounding, zero_point, low, high);
    end
    $display("refused %0d %0d", eightfold_requantize(0, 0, 31, 0, 0, 0, 0, 0, 0, 0) == EIGHTFOLD_REFUSED,
             eightfold_wrap32(64'h1_8000_0001));
    $finish;
  end
endmodule
