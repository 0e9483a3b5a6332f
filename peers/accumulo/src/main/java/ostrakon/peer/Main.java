package ostrakon.peer;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Starts a cluster, plays the scripts that arrive on standard input, prints their answers to standard output,
 * and ends when the input does. The framing is on the page docs/conformance.md: {@code script NAME}, lines,
 * {@code end}; and back {@code script NAME}, answers, {@code end}. Scripts are played side by side.
 */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) throws Exception {
    // Libraries print what they like; the answers stay clean.
    PrintStream answers = System.out;
    System.setOut(System.err);
    int threads = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 4;
    int status = 1;
    try (var cluster = Cluster.start()) {
      print(answers, List.of("ready " + cluster.version()));
      ExecutorService players = Executors.newFixedThreadPool(threads);
      read(answers, cluster, players);
      players.shutdown();
      players.awaitTermination(1, TimeUnit.HOURS);
      status = 0;
    }
    // Threads of the client library would keep the process alive.
    Runtime.getRuntime().halt(status);
  }

  private static void read(PrintStream answers, Cluster cluster, ExecutorService players) throws Exception {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    int number = 0;
    String name = null;
    List<String> lines = new ArrayList<>();
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      if (name == null) {
        if (line.startsWith("script ")) {
          name = line.substring("script ".length());
          lines = new ArrayList<>();
        }
      } else if (line.equals("end")) {
        String played = name;
        List<String> script = lines;
        String prefix = "s" + ++number + "x";
        players.execute(() -> {
          // The reader of the answers is gone: the rest is not played.
          if (!answers.checkError()) {
            print(answers, play(cluster, prefix, played, script));
          }
        });
        name = null;
      } else {
        lines.add(line);
      }
    }
  }

  private static List<String> play(Cluster cluster, String prefix, String name, List<String> script) {
    var answer = new ArrayList<String>();
    answer.add("script " + name);
    try (var player = new Player(cluster.client(), prefix)) {
      for (var operation : Operation.parse(script)) {
        player.play(operation, answer);
      }
    } catch (ScriptException mistake) {
      answer.add("mistake " + mistake.getMessage());
    } catch (Exception | Error broken) {
      broken.printStackTrace();
      answer.add("mistake " + broken);
    }
    answer.add("end");
    return answer;
  }

  private static void print(PrintStream answers, List<String> lines) {
    synchronized (answers) {
      lines.forEach(line -> answers.print(line + "\n"));
      answers.flush();
    }
  }
}
