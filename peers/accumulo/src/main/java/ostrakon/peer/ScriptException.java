package ostrakon.peer;

/** A script that cannot be played: a mistake of its author, not an answer of the cluster. */
final class ScriptException extends RuntimeException {
  private static final long serialVersionUID = 1;

  ScriptException(String message) {
    super(message);
  }
}
