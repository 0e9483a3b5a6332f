package ostrakon.ycsb;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;
import site.ycsb.measurements.Measurements;
import site.ycsb.workloads.CoreWorkload;

/**
 * Prints what the core workload of YCSB asks of a database.
 *
 * <p>Each line of the input is {@code draws SEED COUNT}, {@code load SEED COUNT name=value…} or {@code run SEED COUNT
 * name=value…}. The answer is a line for each draw or call, then {@code end}. The classes of YCSB are used as they are; the
 * state of the thread's random generator is set to the seed before the workload is made.
 */
public final class Main {
  private final Field seed;
  private final PrintWriter out;

  private Main(PrintWriter out) throws NoSuchFieldException {
    this.out = out;
    seed = Thread.class.getDeclaredField("threadLocalRandomSeed");
    seed.setAccessible(true);
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintWriter out =
        new PrintWriter(
            new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8)));
    Main main = new Main(out);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      main.answer(line.split(" "));
      out.println("end");
      out.flush();
    }
  }

  private void answer(String[] words) throws Exception {
    long start = Long.parseLong(words[1]);
    int count = Integer.parseInt(words[2]);
    if (words[0].equals("draws")) {
      draws(start, count);
      return;
    }
    Properties properties = new Properties();
    for (int at = 3; at < words.length; at++) {
      int equals = words[at].indexOf('=');
      properties.setProperty(words[at].substring(0, equals), words[at].substring(equals + 1));
    }
    // Made once for a process; no case asks for other measurements.
    Measurements.setProperties(properties);
    CoreWorkload workload = new CoreWorkload();
    Recorder recorder = new Recorder(out);
    begin(start);
    workload.init(properties);
    for (int done = 0; done < count; done++) {
      if (words[0].equals("load")) {
        workload.doInsert(recorder, null);
      } else {
        workload.doTransaction(recorder, null);
      }
    }
  }

  /** The first call of {@code current()} in a thread sets a seed of its own. */
  private void begin(long start) throws IllegalAccessException {
    ThreadLocalRandom.current();
    seed.setLong(Thread.currentThread(), start);
  }

  private void draws(long start, int count) throws IllegalAccessException, IOException {
    begin(start);
    ThreadLocalRandom random = ThreadLocalRandom.current();
    for (int done = 0; done < count; done++) {
      out.println(
          random.nextLong()
              + " "
              + random.nextInt()
              + " "
              + random.nextInt(done + 1)
              + " "
              + Long.toHexString(Double.doubleToLongBits(random.nextDouble())));
    }
  }
}
