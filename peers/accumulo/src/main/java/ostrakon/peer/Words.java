package ostrakon.peer;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** One line of a script: a verb, words that stand by position, and options {@code name=value}. */
final class Words {
  final int line;
  final String verb;
  private final List<String> positional = new ArrayList<>();
  private final List<Map.Entry<String, String>> options = new ArrayList<>();

  /** Options follow the first {@code positions} words; {@code -1} takes every word by position. */
  private Words(int line, String verb) {
    this.line = line;
    this.verb = verb;
  }

  static Words parse(int line, String text) {
    String[] words = text.trim().split(" +");
    var parsed = new Words(line, words[0]);
    for (int at = 1; at < words.length; at++) {
      int equals = words[at].indexOf('=');
      if (equals > 0) {
        parsed.options.add(Map.entry(words[at].substring(0, equals), words[at].substring(equals + 1)));
      } else {
        parsed.positional.add(words[at]);
      }
    }
    return parsed;
  }

  int count() {
    return positional.size();
  }

  String word(int at) {
    if (at >= positional.size()) {
      throw new ScriptException("line " + line + ": " + verb + " takes more words");
    }
    return positional.get(at);
  }

  byte[] bytes(int at) {
    return Bytes.parse(word(at));
  }

  String text(int at) {
    return Bytes.text(word(at));
  }

  /** The option's word, or {@code null}. */
  String option(String name) {
    for (var option : options) {
      if (option.getKey().equals(name)) {
        return option.getValue();
      }
    }
    return null;
  }

  byte[] optionBytes(String name) {
    String word = option(name);
    return word == null ? null : Bytes.parse(word);
  }

  Long optionNumber(String name) {
    String word = option(name);
    return word == null ? null : Long.valueOf(word);
  }

  boolean is(String name) {
    return "yes".equals(option(name));
  }

  List<String> all(String name) {
    return options.stream().filter(o -> o.getKey().equals(name)).map(Map.Entry::getValue).toList();
  }

  /** Every option, unescaped, in order. */
  Map<String, String> texts() {
    var texts = new LinkedHashMap<String, String>();
    options.forEach(o -> texts.put(Bytes.text(o.getKey()), Bytes.text(o.getValue())));
    return texts;
  }

  /** Refuses options that the verb does not know. */
  void only(Set<String> known) {
    for (var option : options) {
      if (!known.contains(option.getKey())) {
        throw new ScriptException("line " + line + ": " + verb + " has no option " + option.getKey());
      }
    }
  }
}
