package ostrakon.peer;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.client.security.tokens.PasswordToken;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.accumulo.minicluster.MemoryUnit;
import org.apache.accumulo.minicluster.ServerType;
import org.apache.accumulo.miniclusterImpl.MiniAccumuloClusterImpl;
import org.apache.accumulo.miniclusterImpl.MiniAccumuloConfigImpl;

/**
 * A cluster of one machine in a temporary directory, on free ports of the loopback interface. Its servers are
 * processes of their own; a guard ends them and removes the directory, however this process ends.
 */
final class Cluster implements AutoCloseable {
  private static final String PASSWORD = "peer";

  /** What scans may ask for; scripts use no other authorizations. */
  private static final Authorizations AUTHORIZATIONS =
      new Authorizations("a", "b", "c", "d", "e", "A", "B", "x:y", "1.2/3", "two words", "q\"uote");

  private final Guard guard;
  private final AccumuloClient client;

  private Cluster(Guard guard, AccumuloClient client) {
    this.guard = guard;
    this.client = client;
  }

  static Cluster start() throws Exception {
    Path directory = Files.createTempDirectory("ostrakon-accumulo-");
    var guard = new Guard(directory);
    // Here and in the servers: what they unpack and cache goes with the directory, too.
    String scratch = Files.createDirectory(directory.resolve("tmp")).toString();
    System.setProperty("java.io.tmpdir", scratch);
    Path home = Files.createDirectory(directory.resolve("cluster"));
    var config = new MiniAccumuloConfigImpl(home.toFile(), PASSWORD);
    config.setSystemProperties(Map.of("java.io.tmpdir", scratch));
    config.setNumTservers(1);
    // A machine that compiles meanwhile is slow; the default is 20 seconds.
    config.setZooKeeperStartupTime(600_000);
    config.setMemory(ServerType.ZOOKEEPER, 64, MemoryUnit.MEGABYTE);
    config.setMemory(ServerType.MANAGER, 160, MemoryUnit.MEGABYTE);
    config.setMemory(ServerType.TABLET_SERVER, 448, MemoryUnit.MEGABYTE);
    config.setDefaultMemory(96, MemoryUnit.MEGABYTE);
    configure(config);
    var cluster = new MiniAccumuloClusterImpl(config);
    // Servers whose session ends stop. ZooKeeper allows 40 seconds unless it is told otherwise, and a machine that is
    // busy may let a process wait for longer.
    Files.writeString(config.getConfDir().toPath().resolve("zoo.cfg"), "\nmaxSessionTimeout=300000\n",
        StandardOpenOption.APPEND);
    cluster.start();
    // What it would collect goes with the directory.
    cluster.getClusterControl().stop(ServerType.GARBAGE_COLLECTOR);
    AccumuloClient client = cluster.createAccumuloClient("root", new PasswordToken(PASSWORD));
    client.securityOperations().changeUserAuthorizations("root", AUTHORIZATIONS);
    return new Cluster(guard, client);
  }

  private static void configure(MiniAccumuloConfigImpl config) {
    config.setProperty("tserver.memory.maps.native.enabled", "false");
    config.setProperty("tserver.memory.maps.max", "64M");
    config.setProperty("tserver.cache.data.size", "16M");
    config.setProperty("tserver.cache.index.size", "16M");
    config.setProperty("tserver.cache.summary.size", "4M");
    config.setProperty("tserver.walog.max.size", "100M");
    // Only the scripts compact: what a cluster compacts by itself would decide what deletes and filters leave.
    config.setProperty("table.compaction.major.ratio", "1000");
    config.setProperty("table.file.max", "1000");
    config.setProperty("table.durability", "log");
    config.setProperty("instance.zookeeper.timeout", "240s");
    config.setProperty("general.rpc.timeout", "300s");
    config.setProperty("manager.fate.threadpool.size", "16");
    config.setProperty("tserver.scan.files.open.max", "1000");
    // Merges, deletions of rows and compactions go on in steps, each of which may wait for the next round.
    config.setProperty("manager.tablet.watcher.interval", "500ms");
    config.setProperty("tserver.compaction.major.delay", "500ms");
    config.setProperty("general.micrometer.enabled", "false");
  }

  AccumuloClient client() {
    return client;
  }

  String version() {
    String version = AccumuloClient.class.getPackage().getImplementationVersion();
    return version == null ? "unknown" : version;
  }

  @Override
  public void close() throws IOException {
    client.close();
    guard.close();
  }

  /**
   * A shell that waits for the end of its input, then kills the processes whose numbers it was told and removes
   * the directory. The input ends with this process, also when that is killed.
   */
  private static final class Guard {
    private static final String SCRIPT =
        "trap '' INT TERM HUP; all=; while read one; do all=\"$all $one\"; done;"
            + " [ -z \"$all\" ] || kill -9 $all 2>/dev/null; sleep 0.2; rm -rf \"$1\"";

    private final Process shell;
    private final OutputStream numbers;
    private final Set<Long> told = new HashSet<>();

    Guard(Path directory) throws IOException {
      shell = new ProcessBuilder("sh", "-c", SCRIPT, "guard", directory.toString())
          .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD).start();
      numbers = shell.getOutputStream();
      var watch = new Thread(this::watch, "guard");
      watch.setDaemon(true);
      watch.start();
    }

    /** Tells the numbers of new children, those of a cluster that is still starting too. */
    private void watch() {
      try {
        while (true) {
          tell();
          Thread.sleep(50);
        }
      } catch (IOException | InterruptedException closed) {
        // The cluster is closed.
      }
    }

    private synchronized void tell() throws IOException {
      for (var child : ProcessHandle.current().children().toList()) {
        if (child.pid() != shell.pid() && told.add(child.pid())) {
          numbers.write((child.pid() + "\n").getBytes(StandardCharsets.US_ASCII));
          numbers.flush();
        }
      }
    }

    void close() throws IOException {
      tell();
      numbers.close();
      try {
        shell.waitFor();
      } catch (InterruptedException hurry) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
