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
      // Operations on a range of rows have no exception of their own for a swapped one.
      if (one instanceof IllegalArgumentException
          || String.valueOf(one.getMessage()).contains("start row must be less than end row")) {
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
