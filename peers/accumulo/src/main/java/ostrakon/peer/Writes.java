package ostrakon.peer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.client.BatchWriterConfig;
import org.apache.accumulo.core.client.ConditionalWriter;
import org.apache.accumulo.core.client.ConditionalWriterConfig;
import org.apache.accumulo.core.client.IteratorSetting;
import org.apache.accumulo.core.client.MutationsRejectedException;
import org.apache.accumulo.core.client.TableNotFoundException;
import org.apache.accumulo.core.data.Condition;
import org.apache.accumulo.core.data.ConditionalMutation;
import org.apache.accumulo.core.data.Mutation;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.accumulo.core.security.ColumnVisibility;
import org.apache.hadoop.io.Text;

/** Plain and conditional mutations. */
final class Writes {
  private static final Set<String> UPDATE = Set.of("label", "time");

  private final AccumuloClient client;
  private final String prefix;

  Writes(AccumuloClient client, String prefix) {
    this.client = client;
    this.prefix = prefix;
  }

  List<String> write(Operation operation) throws Exception {
    var mutations = new ArrayList<Mutation>();
    for (var detail : operation.details()) {
      update(detail, mutations, Mutation::new);
    }
    String table = prefix + operation.head().word(0);
    // A writer that was refused one mutation does not send again those whose tablet it did not know, and does not count them.
    locate(table, mutations);
    // One thread, so that mutations arrive in the order in which they stand here.
    var writer = client.createBatchWriter(table, new BatchWriterConfig().setMaxWriteThreads(1));
    try {
      writer.addMutations(mutations);
      writer.close();
    } catch (MutationsRejectedException refused) {
      var summaries = refused.getConstraintViolationSummaries();
      if (summaries.isEmpty()) {
        throw refused;
      }
      var answer = new ArrayList<String>();
      summaries.forEach(one -> answer.add(shortName(one.getConstrainClass()) + " " + one.getViolationCode()
          + " " + one.getNumberOfViolatingMutations()));
      answer.sort(null);
      answer.add(0, "violations");
      return answer;
    }
    return Tables.OK;
  }

  List<String> conditional(Operation operation) throws Exception {
    operation.head().only(Set.of("auths"));
    var mutations = new ArrayList<ConditionalMutation>();
    Condition[] last = {null};
    var iterators = new ArrayList<IteratorSetting>();
    for (var detail : operation.details()) {
      switch (detail.verb) {
        case "if" -> {
          iterators.clear();
          last[0] = condition(detail);
          mutations.get(mutations.size() - 1).addCondition(last[0]);
        }
        case "iterator" -> {
          iterators.add(TableProperties.setting(detail));
          last[0].setIterators(iterators.toArray(IteratorSetting[]::new));
        }
        default -> update(detail, mutations, ConditionalMutation::new);
      }
    }
    var options = new ConditionalWriterConfig().setMaxWriteThreads(1)
        .setAuthorizations(Scans.authorizations(operation.head()));
    var results = new ArrayList<ConditionalWriter.Result>();
    String table = prefix + operation.head().word(0);
    locate(table, mutations);
    try (var writer = client.createConditionalWriter(table, options)) {
      writer.write(new ArrayList<>(mutations).iterator()).forEachRemaining(results::add);
    }
    var answer = new ArrayList<String>();
    answer.add("statuses");
    for (var mutation : mutations) {
      answer.add(status(take(results, mutation)));
    }
    return answer;
  }

  /**
   * Asks the servers for the tablets of some rows. What the client has to send again, because it knew a wrong
   * tablet or none, it sends in any order, and the answers to mutations of one row depend on their order.
   */
  private void locate(String table, List<? extends Mutation> mutations) {
    try (var scanner = client.createScanner(table, Authorizations.EMPTY)) {
      // No iterator of the table meets an entry.
      scanner.fetchColumnFamily(new Text("\0 none"));
      for (var mutation : mutations) {
        scanner.setRange(Range.exact(new Text(mutation.getRow())));
        scanner.iterator().hasNext();
      }
    } catch (TableNotFoundException | RuntimeException refused) {
      // The write meets it again, and answers with it.
    }
  }

  /** Results come in any order and with copies of their mutations; equal ones are answered in turn. */
  private static ConditionalWriter.Result take(List<ConditionalWriter.Result> results,
      ConditionalMutation mutation) {
    for (var result : results) {
      var copy = result.getMutation();
      if (Arrays.equals(copy.getRow(), mutation.getRow()) && copy.getUpdates().equals(mutation.getUpdates())
          && copy.getConditions().equals(mutation.getConditions())) {
        results.remove(result);
        return result;
      }
    }
    throw new IllegalStateException("a mutation without a result");
  }

  private static String status(ConditionalWriter.Result result) throws Exception {
    return switch (result.getStatus()) {
      case ACCEPTED -> "accepted";
      case REJECTED -> "rejected";
      case VIOLATED -> "violated";
      case UNKNOWN -> "unknown";
      case INVISIBLE_VISIBILITY -> "invisible";
    };
  }

  private static Condition condition(Words words) {
    words.only(Set.of("label", "time", "value"));
    var condition = new Condition(words.bytes(0), words.bytes(1));
    byte[] label = words.optionBytes("label");
    if (label != null) {
      condition.setVisibility(new ColumnVisibility(label));
    }
    Long time = words.optionNumber("time");
    if (time != null) {
      condition.setTimestamp(time);
    }
    byte[] value = words.optionBytes("value");
    if (value != null) {
      condition.setValue(value);
    }
    return condition;
  }

  /** A row begins a mutation; updates belong to the row above them. */
  private static <M extends Mutation> void update(Words words, List<M> mutations, Function<byte[], M> begin) {
    if (words.verb.equals("row")) {
      mutations.add(begin.apply(words.bytes(0)));
      return;
    }
    words.only(UPDATE);
    var mutation = mutations.get(mutations.size() - 1);
    byte[] given = words.optionBytes("label");
    var label = given == null ? new ColumnVisibility() : new ColumnVisibility(given);
    Long time = words.optionNumber("time");
    byte[] family = words.bytes(0);
    byte[] qualifier = words.bytes(1);
    switch (words.verb) {
      case "put" -> {
        if (time == null) {
          mutation.put(family, qualifier, label, words.bytes(2));
        } else {
          mutation.put(family, qualifier, label, time, words.bytes(2));
        }
      }
      case "delete" -> {
        if (time == null) {
          mutation.putDelete(family, qualifier, label);
        } else {
          mutation.putDelete(family, qualifier, label, time);
        }
      }
      default -> throw new ScriptException("line " + words.line + ": a mutation has no " + words.verb);
    }
  }

  private static String shortName(String className) {
    return className.substring(className.lastIndexOf('.') + 1);
  }
}
