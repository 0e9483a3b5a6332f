package ostrakon.peer;

import org.apache.accumulo.core.client.AccumuloSecurityException;
import org.apache.accumulo.core.client.NamespaceExistsException;
import org.apache.accumulo.core.client.NamespaceNotEmptyException;
import org.apache.accumulo.core.client.NamespaceNotFoundException;
import org.apache.accumulo.core.client.TableDeletedException;
import org.apache.accumulo.core.client.TableExistsException;
import org.apache.accumulo.core.client.TableNotFoundException;
import org.apache.accumulo.core.client.TableOfflineException;
import org.apache.accumulo.core.client.security.SecurityErrorCode;

/** The few classes into which the failures of an operation fall. */
final class Errors {
  private Errors() {}

  static String classOf(Throwable failure) {
    for (Throwable one = failure; one != null; one = one.getCause()) {
      if (one instanceof TableNotFoundException || one instanceof TableDeletedException) {
        return "NoSuchTable";
      }
      if (one instanceof NamespaceNotFoundException) {
        return "NoSuchNamespace";
      }
      if (one instanceof NamespaceExistsException) {
        return "NamespaceExists";
      }
      if (one instanceof NamespaceNotEmptyException) {
        return "NotEmpty";
      }
      if (one instanceof TableExistsException) {
        return "TableExists";
      }
      if (one instanceof TableOfflineException) {
        return "Offline";
      }
      // Some wrong arguments have no exception of their own: swapped rows, a rename to another namespace.
      String message = String.valueOf(one.getMessage());
      if (one instanceof IllegalArgumentException || message.contains("start row must be less than end row")
          || message.contains("Unable to move tables to a new namespace")) {
        return "InvalidArgument";
      }
      if (one instanceof AccumuloSecurityException refused) {
        return refused.getSecurityErrorCode() == SecurityErrorCode.TABLE_DOESNT_EXIST ? "NoSuchTable"
            : "Denied";
      }
    }
    System.err.println("an operation failed: " + failure);
    return "Failed";
  }
}
