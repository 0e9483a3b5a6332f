package ostrakon.peer;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.client.admin.CloneConfiguration;
import org.apache.accumulo.core.client.admin.CompactionConfig;
import org.apache.accumulo.core.client.admin.NewTableConfiguration;
import org.apache.accumulo.core.client.admin.TableOperations;
import org.apache.accumulo.core.client.admin.TimeType;
import org.apache.hadoop.io.Text;

/** Operations on whole tables and on their tablets. */
final class Tables {
  static final List<String> OK = List.of("ok");

  private final TableOperations operations;
  private final String prefix;

  Tables(AccumuloClient client, String prefix) {
    this.operations = client.tableOperations();
    this.prefix = prefix;
  }

  private String name(Operation operation) {
    return prefix + operation.head().word(0);
  }

  List<String> create(Operation operation) throws Exception {
    var head = operation.head();
    head.only(Set.of("time", "bare", "offline", "split"));
    var options = new NewTableConfiguration();
    if ("logical".equals(head.option("time"))) {
      options.setTimeType(TimeType.LOGICAL);
    }
    if (head.is("bare")) {
      options.withoutDefaultIterators();
    }
    if (head.is("offline")) {
      options.createOffline();
    }
    var splits = new TreeSet<Text>();
    head.all("split").forEach(row -> splits.add(new Text(Bytes.parse(row))));
    if (!splits.isEmpty()) {
      options.withSplits(splits);
    }
    var properties = new HashMap<String, String>();
    for (var detail : operation.details()) {
      switch (detail.verb) {
        case "prop" -> properties.put(detail.text(0), detail.text(1));
        case "iterator" -> properties.putAll(TableProperties.iterator(detail, 0));
        default -> throw new ScriptException("line " + detail.line + ": create has no " + detail.verb);
      }
    }
    options.setProperties(properties);
    operations.create(name(operation), options);
    return OK;
  }

  List<String> drop(Operation operation) throws Exception {
    operations.delete(name(operation));
    return OK;
  }

  List<String> rename(Operation operation) throws Exception {
    operations.rename(name(operation), prefix + operation.head().word(1));
    return OK;
  }

  List<String> cloneTable(Operation operation) throws Exception {
    operation.head().only(Set.of("flush", "offline"));
    var set = new HashMap<String, String>();
    var exclude = new HashSet<String>();
    for (var detail : operation.details()) {
      switch (detail.verb) {
        case "prop" -> set.put(detail.text(0), detail.text(1));
        case "exclude" -> exclude.add(detail.text(0));
        default -> throw new ScriptException("line " + detail.line + ": clone has no " + detail.verb);
      }
    }
    var options = CloneConfiguration.builder().setFlush(!"no".equals(operation.head().option("flush")))
        .setKeepOffline(operation.head().is("offline")).setPropertiesToSet(set)
        .setPropertiesToExclude(exclude).build();
    operations.clone(name(operation), prefix + operation.head().word(1), options);
    return OK;
  }

  List<String> list(Operation operation) {
    var answer = new ArrayList<String>();
    answer.add("tables");
    for (String table : operations.list()) {
      if (table.startsWith(prefix)) {
        answer.add(table.substring(prefix.length()));
      }
    }
    return answer;
  }

  List<String> online(Operation operation) throws Exception {
    operations.online(name(operation), true);
    return OK;
  }

  List<String> offline(Operation operation) throws Exception {
    operations.offline(name(operation), true);
    return OK;
  }

  List<String> flush(Operation operation) throws Exception {
    operations.flush(name(operation), null, null, true);
    return OK;
  }

  List<String> compact(Operation operation) throws Exception {
    operation.head().only(Set.of("start", "end", "flush"));
    var options = new CompactionConfig().setWait(true)
        .setFlush(!"no".equals(operation.head().option("flush")))
        .setStartRow(row(operation, "start")).setEndRow(row(operation, "end"))
        .setIterators(operation.details().stream().map(TableProperties::setting).toList());
    operations.compact(name(operation), options);
    return OK;
  }

  List<String> split(Operation operation) throws Exception {
    var rows = new TreeSet<Text>();
    for (int at = 1; at < operation.head().count(); at++) {
      rows.add(new Text(operation.head().bytes(at)));
    }
    operations.addSplits(name(operation), rows);
    return OK;
  }

  List<String> splits(Operation operation) throws Exception {
    var answer = new ArrayList<String>();
    answer.add("splits");
    for (Text row : new TreeSet<>(operations.listSplits(name(operation)))) {
      answer.add(Bytes.show(row.copyBytes()));
    }
    return answer;
  }

  List<String> merge(Operation operation) throws Exception {
    operation.head().only(Set.of("start", "end"));
    operations.merge(name(operation), row(operation, "start"), row(operation, "end"));
    return OK;
  }

  List<String> deleteRows(Operation operation) throws Exception {
    operation.head().only(Set.of("start", "end"));
    operations.deleteRows(name(operation), row(operation, "start"), row(operation, "end"));
    return OK;
  }

  private static Text row(Operation operation, String option) {
    byte[] row = operation.head().optionBytes(option);
    return row == null ? null : new Text(row);
  }

  void dropAll() {
    for (String table : operations.list()) {
      if (table.startsWith(prefix)) {
        try {
          operations.delete(table);
        } catch (Exception left) {
          System.err.println("a table was left behind: " + left);
        }
      }
    }
  }
}
