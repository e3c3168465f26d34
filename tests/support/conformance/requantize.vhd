-- A requantizer in VHDL: the result comes a clock edge later, by valid and ready.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity requantize is
  generic (ACC_BITS : positive := 32);
  port (
    clk, rst_n : in std_ulogic;
    in_valid : in std_logic;
    in_ready : out std_logic;
    acc : in signed(ACC_BITS - 1 downto 0);
    mult : in unsigned(30 downto 0);
    shr : in std_logic_vector(4 downto 0);
    zp : in signed(7 downto 0);
    out_valid : out std_logic;
    out_ready : in std_logic;
    result : out signed(7 downto 0)
  );
end entity;

architecture rtl of requantize is
  signal full : std_logic := '0';
begin
  in_ready <= not full or out_ready;
  out_valid <= full;

  process (clk)
    variable product : signed(63 downto 0);
    variable high, half, rest : signed(33 downto 0);
  begin
    if rising_edge(clk) then
      if (not full or out_ready) = '1' then
        full <= in_valid;
        product := acc * signed('0' & mult) + 2 ** 30;
        high := resize(shift_right(product, 31), 34);
        half := shift_right(shift_left(to_signed(1, 34), to_integer(unsigned(shr))), 1);
        if high < 0 and half /= 0 then half := half - 1; end if;
        rest := shift_right(high + half, to_integer(unsigned(shr))) + zp;
        rest := resize(rest(31 downto 0), 34);  -- which wraps
        if rest > 127 then rest := to_signed(127, 34); end if;
        if rest < -128 then rest := to_signed(-128, 34); end if;
        result <= rest(7 downto 0);
      end if;
      if rst_n = '0' then full <= '0'; end if;
    end if;
  end process;
end architecture;
