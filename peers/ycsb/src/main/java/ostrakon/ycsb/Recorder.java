package ostrakon.ycsb;

import java.io.PrintWriter;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;

/** A database that prints what it is asked to do. It takes values as the Accumulo binding does: in the map's order. */
final class Recorder extends DB {
  private final PrintWriter out;

  Recorder(PrintWriter out) {
    this.out = out;
  }

  @Override
  public Status read(
      String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    out.println("read " + key + names(fields));
    return Status.OK;
  }

  @Override
  public Status scan(
      String table,
      String start,
      int count,
      Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    out.println("scan " + start + " " + count + names(fields));
    // YCSB divides by the number of records.
    result.add(new HashMap<>());
    return Status.OK;
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return write("update ", key, values);
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return write("insert ", key, values);
  }

  @Override
  public Status delete(String table, String key) {
    out.println("delete " + key);
    return Status.OK;
  }

  private Status write(String what, String key, Map<String, ByteIterator> values) {
    StringBuilder line = new StringBuilder(what).append(key);
    for (Map.Entry<String, ByteIterator> entry : values.entrySet()) {
      line.append(' ').append(entry.getKey()).append('=');
      for (byte one : entry.getValue().toArray()) {
        line.append(Character.forDigit((one >> 4) & 15, 16)).append(Character.forDigit(one & 15, 16));
      }
    }
    out.println(line);
    return Status.OK;
  }

  private static String names(Set<String> fields) {
    return fields == null ? " *" : " " + String.join(",", new TreeSet<>(fields));
  }
}
