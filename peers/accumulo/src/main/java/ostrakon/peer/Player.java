package ostrakon.peer;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.apache.accumulo.core.client.AccumuloClient;

/**
 * Plays one script. Tables of different scripts have different names: the script's name for a table stands
 * behind a prefix, and never in an answer.
 */
final class Player implements AutoCloseable {
  /** Longer than any operation of a script; the cluster repeats some failing operations endlessly. */
  private static final long SECONDS = 300;

  private interface Play {
    List<String> on(Operation operation) throws Exception;
  }

  private final Map<String, Play> verbs;
  private final Tables tables;
  private final Namespaces namespaces;
  private final ExecutorService worker = Executors.newSingleThreadExecutor();

  Player(AccumuloClient client, String prefix) {
    tables = new Tables(client, prefix);
    namespaces = new Namespaces(client, prefix);
    var properties = new TableProperties(client, prefix);
    var writes = new Writes(client, prefix);
    var scans = new Scans(client, prefix);
    verbs = Map.ofEntries(
        Map.entry("create", tables::create), Map.entry("drop", tables::drop),
        Map.entry("rename", tables::rename), Map.entry("clone", tables::cloneTable),
        Map.entry("tables", tables::list), Map.entry("online", tables::online),
        Map.entry("offline", tables::offline), Map.entry("flush", tables::flush),
        Map.entry("compact", tables::compact), Map.entry("split", tables::split),
        Map.entry("splits", tables::splits), Map.entry("merge", tables::merge),
        Map.entry("delete-rows", tables::deleteRows), Map.entry("set", properties::set),
        Map.entry("unset", properties::unset), Map.entry("attach", properties::attach),
        Map.entry("detach", properties::detach), Map.entry("groups", properties::groups),
        Map.entry("properties", properties::show), Map.entry("write", writes::write),
        Map.entry("in-force", properties::inForce), Map.entry("create-namespace", namespaces::create),
        Map.entry("drop-namespace", namespaces::drop), Map.entry("rename-namespace", namespaces::rename),
        Map.entry("namespaces", namespaces::list), Map.entry("set-namespace", namespaces::set),
        Map.entry("unset-namespace", namespaces::unset), Map.entry("namespace-properties", namespaces::show),
        Map.entry("conditional", writes::conditional), Map.entry("scan", scans::scan),
        Map.entry("batch-scan", scans::batchScan));
  }

  /** Appends the answer: {@code @LINE OUTCOME} and the lines of the outcome. */
  void play(Operation operation, List<String> answer) throws InterruptedException {
    var head = operation.head();
    Play play = verbs.get(head.verb);
    if (play == null) {
      throw new ScriptException("line " + head.line + ": unknown operation " + head.verb);
    }
    List<String> lines;
    try {
      lines = worker.submit(() -> play.on(operation)).get(SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException endless) {
      lines = List.of("error Timeout");
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof ScriptException mistake) {
        throw mistake;
      }
      lines = List.of("error " + Errors.classOf(failed.getCause()));
    }
    answer.add("@" + head.line + " " + lines.get(0));
    answer.addAll(lines.subList(1, lines.size()));
  }

  /** Deletes what the script left, so that thousands of scripts fit into one cluster. */
  @Override
  public void close() {
    worker.shutdownNow();
    tables.dropAll();
    try {
      namespaces.dropAll();
    } catch (Exception left) {
      System.err.println("a namespace was left behind: " + left);
    }
  }
}
