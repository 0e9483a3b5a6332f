package ostrakon.peer;

import java.util.ArrayList;
import java.util.List;

/** A line of a script together with the indented lines below it. */
record Operation(Words head, List<Words> details) {

  /** Blank lines and those that begin with {@code #} count as lines and mean nothing. */
  static List<Operation> parse(List<String> lines) {
    var operations = new ArrayList<Operation>();
    for (int at = 0; at < lines.size(); at++) {
      String line = lines.get(at);
      if (line.isBlank() || line.startsWith("#")) {
        continue;
      }
      var words = Words.parse(at + 1, line);
      if (!line.startsWith(" ")) {
        operations.add(new Operation(words, new ArrayList<>()));
      } else if (operations.isEmpty()) {
        throw new ScriptException("line " + (at + 1) + ": an indented line belongs to an operation");
      } else {
        operations.get(operations.size() - 1).details().add(words);
      }
    }
    return operations;
  }
}
