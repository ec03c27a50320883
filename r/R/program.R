# Where the program is, and how it is asked.

state <- new.env(parent = emptyenv())
state$stack <- list() # what is being recorded by this session; the innermost is the last

fail <- function(class, ...) {
  stop(structure(class = c(class, "tacho_error", "error", "condition"),
                 list(message = paste0(...), call = NULL)))
}

tacho_program <- function() {
  hint <- "install tacho, or set TACHO_BIN or options(tacho.program = ) to the program or its folder"
  unfit <- character()
  for (named in c(Sys.getenv("TACHO_BIN"), getOption("tacho.program", ""), Sys.which("tacho"))) {
    if (!nzchar(named)) next
    path <- path.expand(named)
    if (dir.exists(path)) path <- file.path(path, "tacho")
    if (!file.exists(path)) {
      unfit <- c(unfit, paste(path, "is not there"))
    } else if (file.access(path, 1L) != 0L) {
      unfit <- c(unfit, paste(path, "is not executable"))
    } else {
      return(normalizePath(path))
    }
  }
  why <- if (length(unfit)) paste(unfit, collapse = "; ") else "there is no program tacho"
  fail("tacho_not_found", why, "; ", hint)
}

is_disabled <- function() !tolower(trimws(Sys.getenv("TACHO_DISABLE"))) %in% c("", "0", "false", "no", "off")

# The program's output for these words; an error with its own text when its status is none of `ok`.
ask <- function(words, ok = 0L) {
  errors <- tempfile("tacho-")
  on.exit(unlink(errors))
  # Warnings are for people. By the option, attach --detach would not print the line that is read here.
  out <- suppressWarnings(system2(tacho_program(), shQuote(words), stdout = TRUE, stderr = errors, env = "TACHO_QUIET=1"))
  status <- attr(out, "status")
  if (is.null(status)) status <- 0L
  if (!status %in% ok) {
    text <- readLines(errors, warn = FALSE)
    text <- sub("^tacho: ", "", text[nzchar(text)])
    fail("tacho_refused", if (length(text)) paste(text, collapse = "\n") else paste("tacho ended with", status))
  }
  enc2utf8(paste(out, collapse = "\n"))
}

ask_json <- function(words, ok = 0L) jsonlite::fromJSON(ask(words, ok), simplifyVector = FALSE)

# Seconds, as a word of the command line.
seconds <- function(value, what) {
  if (!is.numeric(value) || length(value) != 1L || is.na(value) || !is.finite(value) || value <= 0) {
    stop(what, " is not a number of seconds above 0: ", deparse(value)[1L], call. = FALSE)
  }
  format(value, digits = 9L, scientific = FALSE, trim = TRUE)
}

one_text <- function(value, what) {
  if (!is.character(value) || length(value) != 1L || is.na(value) || !nzchar(value)) {
    stop(what, " is not a text: ", deparse(value)[1L], call. = FALSE)
  }
  enc2utf8(value)
}

# While a package is checked nothing is written outside of tempdir().
store_words <- function(store) {
  if (is.null(store) && nzchar(Sys.getenv("_R_CHECK_PACKAGE_NAME_"))) store <- file.path(tempdir(), "tacho-runs")
  if (is.null(store)) character() else paste0("--store=", normalizePath(one_text(store, "store"), mustWork = FALSE))
}
