package ostrakon.peer;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Bytes as words of a script: printable ASCII stands for itself, {@code \xHH} for any byte, and {@code \e} for
 * the empty string; {@code \*N;} repeats the byte before it N times more. Words that are written never contain
 * a space, a comma or an equals sign.
 */
final class Bytes {
  private Bytes() {}

  static byte[] parse(String word) {
    var bytes = new ByteArrayOutputStream(word.length());
    for (int at = 0; at < word.length(); at++) {
      char letter = word.charAt(at);
      if (letter != '\\') {
        if (letter < 0x21 || letter > 0x7e) {
          throw new ScriptException("write the bytes of " + word + " as \\xHH");
        }
        bytes.write(letter);
      } else if (word.startsWith("\\x", at) && at + 4 <= word.length()) {
        try {
          bytes.write(Integer.parseInt(word.substring(at + 2, at + 4), 16));
        } catch (NumberFormatException notHex) {
          throw new ScriptException("\\x takes two hexadecimal digits: " + word);
        }
        at += 3;
      } else if (word.startsWith("\\e", at)) {
        at++;
      } else if (word.startsWith("\\*", at) && word.indexOf(';', at) > 0 && bytes.size() > 0) {
        int end = word.indexOf(';', at);
        byte last = bytes.toByteArray()[bytes.size() - 1];
        for (int times = Integer.parseInt(word.substring(at + 2, end)); times > 0; times--) {
          bytes.write(last);
        }
        at = end;
      } else {
        throw new ScriptException("a backslash is followed by xHH, e or *N;: " + word);
      }
    }
    return bytes.toByteArray();
  }

  static String text(String word) {
    return new String(parse(word), StandardCharsets.UTF_8);
  }

  static String show(byte[] bytes) {
    if (bytes.length == 0) {
      return "\\e";
    }
    var word = new StringBuilder(bytes.length);
    for (byte one : bytes) {
      if (one > 0x20 && one < 0x7f && one != '\\' && one != ',' && one != '=') {
        word.append((char) one);
      } else {
        word.append(String.format("\\x%02x", one & 0xff));
      }
    }
    return word.toString();
  }

  static String show(String text) {
    return show(text.getBytes(StandardCharsets.UTF_8));
  }
}
