package ostrakon.peer;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.client.IteratorSetting;
import org.apache.accumulo.core.client.TableNotFoundException;
import org.apache.accumulo.core.client.admin.NamespaceOperations;
import org.apache.accumulo.core.client.admin.TableOperations;
import org.apache.hadoop.io.Text;

/**
 * Properties of tables, and what is built on them. A change reaches the tablet server by way of ZooKeeper, after
 * the call has returned; here it returns when the server shows it.
 */
final class TableProperties {
  /** Seconds. */
  private static final long PATIENCE = 240;

  private final TableOperations operations;
  private final NamespaceOperations namespaces;
  private final String prefix;

  TableProperties(AccumuloClient client, String prefix) {
    this.operations = client.tableOperations();
    this.namespaces = client.namespaceOperations();
    this.prefix = prefix;
  }

  private String name(Operation operation) {
    return prefix + operation.head().word(0);
  }

  List<String> set(Operation operation) throws Exception {
    var head = operation.head();
    return change(name(operation), Map.of(head.text(1), head.text(2)), null);
  }

  List<String> unset(Operation operation) throws Exception {
    return change(name(operation), Map.of(), operation.head().text(1));
  }

  List<String> attach(Operation operation) throws Exception {
    return change(name(operation), iterator(operation.head(), 1), null);
  }

  /** Takes an iterator off every scope. */
  List<String> detach(Operation operation) throws Exception {
    return change(name(operation), Map.of(), "table.iterator.*." + operation.head().text(1));
  }

  /** Replaces all groups: {@code groups T NAME=FAMILY,FAMILY …}. */
  List<String> groups(Operation operation) throws Exception {
    var groups = new HashMap<String, Set<Text>>();
    for (String group : operation.head().all("group")) {
      String[] words = group.split(",");
      var families = new HashSet<Text>();
      for (int at = 1; at < words.length; at++) {
        families.add(new Text(Bytes.parse(words[at])));
      }
      groups.put(words[0], families);
    }
    String table = name(operation);
    operations.setLocalityGroups(table, groups);
    await(table, shown -> groups.keySet().equals(Set.of(shown.getOrDefault("table.groups.enabled", "")
        .split(","))) || groups.isEmpty());
    return Tables.OK;
  }

  /** Those of the table itself whose names begin with a prefix. */
  List<String> show(Operation operation) throws Exception {
    return shown(operations.getTableProperties(name(operation)), operation.head().text(1));
  }

  /** Those in force for the table, inherited ones included, whose names begin with a prefix. */
  List<String> inForce(Operation operation) throws Exception {
    return shown(operations.getConfiguration(name(operation)), operation.head().text(1));
  }

  static List<String> shown(Map<String, String> properties, String wanted) {
    var answer = new ArrayList<String>();
    answer.add("properties");
    new TreeMap<>(properties).forEach((property, value) -> {
      if (property.startsWith(wanted)) {
        answer.add(Bytes.show(property) + " " + Bytes.show(value));
      }
    });
    return answer;
  }

  private List<String> change(String table, Map<String, String> set, String removed) throws Exception {
    Predicate<String> goes = property -> removed != null && (property.equals(removed) || matches(removed, property));
    // The change of a table that is not there fails without saying so.
    if (!operations.exists(table)) {
      throw new TableNotFoundException(null, table, null);
    }
    var kept = new HashMap<String, String>();
    var gone = new HashSet<String>();
    operations.modifyProperties(table, properties -> {
      gone.clear();
      properties.keySet().stream().filter(goes).forEach(gone::add);
      properties.keySet().removeAll(gone);
      properties.putAll(set);
      gone.removeAll(set.keySet());
      kept.clear();
      kept.putAll(properties);
    });
    var inherited = gone.isEmpty() ? Map.<String, String>of() : namespaces.getConfiguration(namespace(table));
    await(table, shown -> shown.entrySet().containsAll(kept.entrySet())
        && gone.stream().allMatch(property -> Objects.equals(shown.get(property), inherited.get(property))));
    return Tables.OK;
  }

  private static String namespace(String table) {
    int dot = table.indexOf('.');
    return dot < 0 ? "" : table.substring(0, dot);
  }

  private static boolean matches(String removed, String property) {
    String[] parts = removed.split("\\*", 2);
    if (parts.length < 2 || !property.startsWith(parts[0])) {
      return false;
    }
    String rest = property.substring(parts[0].length());
    int dot = rest.indexOf('.');
    if (dot < 0) {
      return false;
    }
    String named = rest.substring(dot);
    return named.equals(parts[1]) || named.startsWith(parts[1] + ".opt.");
  }

  private void await(String table, Predicate<Map<String, String>> wanted) throws Exception {
    awaitThat(() -> wanted.test(operations.getConfiguration(table)));
  }

  /** Returns when the servers show a change, on a busy machine too. */
  static void awaitThat(Callable<Boolean> shown) throws Exception {
    long begun = System.nanoTime();
    while (!shown.call()) {
      if (System.nanoTime() - begun > TimeUnit.SECONDS.toNanos(PATIENCE)) {
        throw new ScriptException("the tablet server never showed a changed property");
      }
      Thread.sleep(10);
    }
  }

  /** The properties of an iterator: {@code NAME PRIORITY CLASS SCOPES option=value …}. */
  static Map<String, String> iterator(Words words, int first) {
    var properties = new HashMap<String, String>();
    for (String scope : words.word(first + 3).split(",")) {
      String base = "table.iterator." + scope + "." + words.text(first);
      properties.put(base, words.word(first + 1) + "," + className(words.text(first + 2)));
      words.texts().forEach((option, value) -> properties.put(base + ".opt." + option, value));
    }
    return properties;
  }

  /** An iterator of a scan, a compaction or a condition: {@code iterator NAME PRIORITY CLASS option=value …}. */
  static IteratorSetting setting(Words words) {
    if (!words.verb.equals("iterator")) {
      throw new ScriptException("line " + words.line + ": an iterator is expected");
    }
    return new IteratorSetting(Integer.parseInt(words.word(1)), words.text(0), className(words.text(2)),
        words.texts());
  }

  /** A name without a dot is a class of Accumulo's own. */
  private static String className(String name) {
    return name.contains(".") ? name : "org.apache.accumulo.core.iterators.user." + name;
  }
}
