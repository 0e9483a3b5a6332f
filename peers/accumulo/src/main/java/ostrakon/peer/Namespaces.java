package ostrakon.peer;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Predicate;

import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.client.NamespaceNotFoundException;
import org.apache.accumulo.core.client.admin.InstanceOperations;
import org.apache.accumulo.core.client.admin.NamespaceOperations;

/** Namespaces, whose names stand behind the script's prefix as those of tables do, and their properties. */
final class Namespaces {
  private final NamespaceOperations operations;
  private final InstanceOperations system;
  private final String prefix;

  Namespaces(AccumuloClient client, String prefix) {
    this.operations = client.namespaceOperations();
    this.system = client.instanceOperations();
    this.prefix = prefix;
  }

  private String name(Operation operation) {
    return prefix + operation.head().word(0);
  }

  List<String> create(Operation operation) throws Exception {
    operations.create(name(operation));
    return Tables.OK;
  }

  List<String> drop(Operation operation) throws Exception {
    operations.delete(name(operation));
    return Tables.OK;
  }

  List<String> rename(Operation operation) throws Exception {
    operations.rename(name(operation), prefix + operation.head().word(1));
    return Tables.OK;
  }

  List<String> list(Operation operation) throws Exception {
    var answer = new ArrayList<String>();
    answer.add("namespaces");
    for (String namespace : operations.list()) {
      if (namespace.startsWith(prefix)) {
        answer.add(namespace.substring(prefix.length()));
      }
    }
    return answer;
  }

  List<String> set(Operation operation) throws Exception {
    var head = operation.head();
    return change(name(operation), Map.of(head.text(1), head.text(2)), property -> false);
  }

  List<String> unset(Operation operation) throws Exception {
    String removed = operation.head().text(1);
    return change(name(operation), Map.of(), removed::equals);
  }

  /** Those of the namespace itself whose names begin with a prefix. */
  List<String> show(Operation operation) throws Exception {
    return TableProperties.shown(operations.getNamespaceProperties(name(operation)), operation.head().text(1));
  }

  private List<String> change(String namespace, Map<String, String> set, Predicate<String> goes) throws Exception {
    // The change of a namespace that is not there fails without saying so.
    if (!operations.exists(namespace)) {
      throw new NamespaceNotFoundException(null, namespace, null);
    }
    var kept = new TreeMap<String, String>();
    var gone = new HashSet<String>();
    operations.modifyProperties(namespace, properties -> {
      gone.clear();
      properties.keySet().stream().filter(goes).forEach(gone::add);
      properties.keySet().removeAll(gone);
      properties.putAll(set);
      kept.clear();
      kept.putAll(properties);
    });
    var inherited = system.getSystemConfiguration();
    TableProperties.awaitThat(() -> {
      var shown = operations.getConfiguration(namespace);
      return shown.entrySet().containsAll(kept.entrySet())
          && gone.stream().allMatch(property -> Objects.equals(shown.get(property), inherited.get(property)));
    });
    return Tables.OK;
  }

  void dropAll() throws Exception {
    for (String namespace : operations.list()) {
      if (namespace.startsWith(prefix)) {
        operations.delete(namespace);
      }
    }
  }
}
