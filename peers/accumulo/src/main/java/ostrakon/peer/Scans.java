package ostrakon.peer;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.client.IsolatedScanner;
import org.apache.accumulo.core.client.Scanner;
import org.apache.accumulo.core.client.ScannerBase;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.hadoop.io.Text;

/** Scans in key order and batch scans. */
final class Scans {
  /** Times from here on were set by a server: they differ from run to run, and are shown as {@code now}. */
  private static final long SERVER_TIMES = 1_000_000_000_000L;

  private final AccumuloClient client;
  private final String prefix;

  Scans(AccumuloClient client, String prefix) {
    this.client = client;
    this.prefix = prefix;
  }

  List<String> scan(Operation operation) throws Exception {
    var head = operation.head();
    head.only(Set.of("auths", "times", "isolated"));
    List<Range> ranges = ranges(operation);
    if (ranges.size() > 1) {
      throw new ScriptException("line " + head.line + ": a scan has one range; batch-scan takes several");
    }
    Scanner plain = client.createScanner(prefix + head.word(0), authorizations(head));
    try (var scanner = head.is("isolated") ? new IsolatedScanner(plain) : plain) {
      if (!ranges.isEmpty()) {
        scanner.setRange(ranges.get(0));
      }
      return read(scanner, operation);
    }
  }

  List<String> batchScan(Operation operation) throws Exception {
    var head = operation.head();
    head.only(Set.of("auths", "times"));
    List<Range> ranges = ranges(operation);
    try (var scanner = client.createBatchScanner(prefix + head.word(0), authorizations(head), 2)) {
      scanner.setRanges(ranges.isEmpty() ? List.of(new Range()) : ranges);
      var answer = read(scanner, operation);
      // Which range is answered first is open.
      answer.subList(1, answer.size()).sort(null);
      return answer;
    }
  }

  static Authorizations authorizations(Words head) {
    String words = head.option("auths");
    if (words == null) {
      return Authorizations.EMPTY;
    }
    var all = new ArrayList<byte[]>();
    for (String word : words.split(",")) {
      all.add(Bytes.parse(word));
    }
    return new Authorizations(all);
  }

  private static List<String> read(ScannerBase scanner, Operation operation) {
    for (var detail : operation.details()) {
      switch (detail.verb) {
        case "range" -> { }
        case "column" -> {
          if (detail.count() == 1) {
            scanner.fetchColumnFamily(new Text(detail.bytes(0)));
          } else {
            scanner.fetchColumn(new Text(detail.bytes(0)), new Text(detail.bytes(1)));
          }
        }
        case "iterator" -> scanner.addScanIterator(TableProperties.setting(detail));
        case "options" -> detail.texts()
            .forEach((option, value) -> scanner.updateScanIteratorOption(detail.text(0), option, value));
        default -> throw new ScriptException("line " + detail.line + ": a scan has no " + detail.verb);
      }
    }
    boolean times = !"no".equals(operation.head().option("times"));
    var answer = new ArrayList<String>();
    for (Map.Entry<Key, Value> entry : scanner) {
      answer.add(show(entry.getKey(), entry.getValue(), times));
    }
    answer.add(0, "entries " + answer.size());
    return answer;
  }

  private static String show(Key key, Value value, boolean times) {
    String time = !times ? "-" : key.getTimestamp() >= SERVER_TIMES && key.getTimestamp() != Long.MAX_VALUE
        ? "now" : Long.toString(key.getTimestamp());
    return String.join(" ", Bytes.show(key.getRowData().toArray()),
        Bytes.show(key.getColumnFamilyData().toArray()), Bytes.show(key.getColumnQualifierData().toArray()),
        Bytes.show(key.getColumnVisibilityData().toArray()), time, Bytes.show(value.get()));
  }

  private static List<Range> ranges(Operation operation) {
    return operation.details().stream().filter(detail -> detail.verb.equals("range")).map(Scans::range).toList();
  }

  private static Range range(Words words) {
    words.only(Set.of("from", "after", "to", "before"));
    return switch (words.word(0)) {
      case "all" -> new Range();
      case "exact" -> exact(words);
      case "prefix" -> Range.prefix(new Text(words.bytes(1)));
      case "rows" -> {
        byte[] start = either(words, "from", "after");
        byte[] end = either(words, "to", "before");
        yield new Range(start == null ? null : new Text(start), words.option("after") == null,
            end == null ? null : new Text(end), words.option("before") == null);
      }
      case "keys" -> {
        String start = words.option("from") == null ? words.option("after") : words.option("from");
        String end = words.option("to") == null ? words.option("before") : words.option("to");
        yield new Range(key(start), words.option("after") == null, key(end), words.option("before") == null);
      }
      default -> throw new ScriptException("line " + words.line + ": no such range " + words.word(0));
    };
  }

  private static byte[] either(Words words, String inclusive, String exclusive) {
    byte[] row = words.optionBytes(inclusive);
    return row == null ? words.optionBytes(exclusive) : row;
  }

  private static Range exact(Words words) {
    return switch (words.count()) {
      case 2 -> Range.exact(new Text(words.bytes(1)));
      case 3 -> Range.exact(new Text(words.bytes(1)), new Text(words.bytes(2)));
      case 4 -> Range.exact(new Text(words.bytes(1)), new Text(words.bytes(2)), new Text(words.bytes(3)));
      default -> throw new ScriptException("line " + words.line + ": exact takes a row, a family, a qualifier");
    };
  }

  /** Up to five parts with commas between: row, family, qualifier, label, time. */
  private static Key key(String word) {
    if (word == null) {
      return null;
    }
    String[] parts = word.split(",", -1);
    byte[][] bytes = new byte[4][];
    for (int at = 0; at < 4; at++) {
      bytes[at] = at < parts.length ? Bytes.parse(parts[at]) : new byte[0];
    }
    long time = parts.length > 4 ? Long.parseLong(new String(Bytes.parse(parts[4]), StandardCharsets.US_ASCII))
        : Long.MAX_VALUE;
    return new Key(bytes[0], bytes[1], bytes[2], bytes[3], time);
  }
}
