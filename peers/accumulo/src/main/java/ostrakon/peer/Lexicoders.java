package ostrakon.peer;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Date;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import org.apache.accumulo.core.client.lexicoder.BytesLexicoder;
import org.apache.accumulo.core.client.lexicoder.DateLexicoder;
import org.apache.accumulo.core.client.lexicoder.DoubleLexicoder;
import org.apache.accumulo.core.client.lexicoder.FloatLexicoder;
import org.apache.accumulo.core.client.lexicoder.IntegerLexicoder;
import org.apache.accumulo.core.client.lexicoder.ListLexicoder;
import org.apache.accumulo.core.client.lexicoder.LongLexicoder;
import org.apache.accumulo.core.client.lexicoder.ReverseLexicoder;
import org.apache.accumulo.core.client.lexicoder.UIntegerLexicoder;
import org.apache.accumulo.core.client.lexicoder.ULongLexicoder;
import org.apache.accumulo.core.client.lexicoder.UUIDLexicoder;

/**
 * Prints what Accumulo's lexicoders make of many values: the file crates/cell/src/lexicoder/accumulo.txt. One line per value:
 * a type, the value (floating-point numbers as the integer with the same bits), the bytes in hexadecimal.
 */
public final class Lexicoders {
  private static final HexFormat HEX = HexFormat.of();

  private Lexicoders() {}

  public static void main(String[] arguments) {
    for (int shift = 0; shift < 64; shift += 7) {
      for (long near = -1; near <= 1; near++) {
        numbers((1L << shift) + near);
        numbers(~(1L << shift) + near);
      }
    }
    numbers(Long.MAX_VALUE);
    numbers(Long.MIN_VALUE);
    for (double real : new double[] {0.0, -0.0, 1.5, -1.5, Double.MAX_VALUE, -Double.MIN_VALUE, Double.NaN}) {
      numbers(Double.doubleToRawLongBits(real));
    }
    var strings = List.of("", "00", "01", "02", "ff", "0001", "0100", "616263", "61006201", "0000ffff", "01ff00fe01");
    var reverse = new ReverseLexicoder<>(new BytesLexicoder());
    var list = new ListLexicoder<>(new BytesLexicoder());
    for (String first : strings) {
      line("reverse", word(first), reverse.encode(HEX.parseHex(first)));
      line("list", word(first), list.encode(List.of(HEX.parseHex(first))));
      for (String second : strings) {
        List<byte[]> parts = new ArrayList<>(List.of(HEX.parseHex(first), HEX.parseHex(second)));
        line("list", word(first) + "," + word(second), list.encode(parts));
      }
    }
  }

  private static void numbers(long number) {
    line("ulong", Long.toUnsignedString(number), new ULongLexicoder().encode(number));
    line("uint", Integer.toUnsignedString((int) number), new UIntegerLexicoder().encode((int) number));
    line("long", Long.toString(number), new LongLexicoder().encode(number));
    line("int", Integer.toString((int) number), new IntegerLexicoder().encode((int) number));
    line("date", Long.toString(number), new DateLexicoder().encode(new Date(number)));
    line("double", Long.toUnsignedString(number), new DoubleLexicoder().encode(Double.longBitsToDouble(number)));
    int bits = (int) (number >>> 32);
    line("float", Integer.toUnsignedString(bits), new FloatLexicoder().encode(Float.intBitsToFloat(bits)));
    UUID uuid = new UUID(number, ~number * 31);
    byte[] plain = ByteBuffer.allocate(16).putLong(number).putLong(~number * 31).array();
    line("uuid", HEX.formatHex(plain), new UUIDLexicoder().encode(uuid));
  }

  private static String word(String hex) {
    return hex.isEmpty() ? "-" : hex;
  }

  private static void line(String type, String value, byte[] bytes) {
    System.out.print(type + " " + value + " " + HEX.formatHex(bytes) + "\n");
  }
}
