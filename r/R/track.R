# Recording: a command, an expression, a process.

tacho_run <- function(command, args = character(), interval = 1, timeout = NULL, store = NULL) {
  command <- one_text(command, "command")
  words <- c("run", "--quiet", paste0("--interval=", seconds(interval, "interval")), store_words(store))
  if (!is.null(timeout)) words <- c(words, paste0("--timeout=", seconds(timeout, "timeout")))
  if (is_disabled()) {
    return(invisible(new_run(NULL, system2(command, shQuote(args)))))
  }
  news <- tempfile("tacho-")
  on.exit(unlink(news))
  words <- c(words, "--begun-fd=3", "--", command, as.character(args))
  status <- suppressWarnings(system2(tacho_program(), c(shQuote(words), paste0("3>", shQuote(news)))))
  told <- tryCatch(jsonlite::fromJSON(news, simplifyVector = FALSE), error = function(e) list())
  if (!"id" %in% names(told)) {
    why <- sub("^tacho: ", "", told$error %or% paste("tacho ended with", status, "before the command was started"))
    fail("tacho_refused", if (status == 127L) paste0(command, " was not found") else why)
  }
  # The command has run, whatever became of its record.
  if (is.null(told$folder)) warning(told$warnings %or% "the run was not recorded", "; name another place with store =", call. = FALSE)
  new_run(told$folder, status)
}

# Starts the agent; what is returned ends with it.
attach_agent <- function(pid, interval, store = store_words(NULL), name = NULL, children = TRUE) {
  if (!is.numeric(pid) || length(pid) != 1L || is.na(pid) || pid < 1 || pid != trunc(pid)) {
    stop("not a process id: ", deparse(pid)[1L], call. = FALSE)
  }
  words <- c("attach", "--detach", paste0("--pid=", format(pid, scientific = FALSE)),
             paste0("--interval=", seconds(interval, "interval")), store)
  if (!children) words <- c(words, "--no-children")
  if (!is.null(name)) words <- c(words, paste0("--job-name=", one_text(name, "name")))
  told <- ask_json(words)
  agent <- new.env(parent = emptyenv())
  agent$folder <- told$folder
  agent$agent_pid <- told$agent_pid
  agent$started <- told$started
  agent$ticks <- start_ticks(agent$agent_pid)
  agent$owner <- Sys.getpid()
  agent$live <- TRUE
  reg.finalizer(agent, function(e) try(end_agent(e), silent = TRUE), onexit = TRUE)
  if (is.null(told$folder)) {
    end_agent(agent)
    fail("tacho_refused", "nothing is recorded: the run store cannot be written to; name another with store =")
  }
  agent
}

end_agent <- function(agent) {
  if (!agent$live || agent$owner != Sys.getpid()) return(invisible(FALSE)) # a forked child does not end its parent's
  agent$live <- FALSE
  if (is.null(agent$folder)) {
    tools::pskill(agent$agent_pid)
  } else {
    tryCatch(ask(c("stop", agent$folder), ok = c(0L, 4L)), tacho_error = function(e) NULL)
  }
  invisible(TRUE)
}

# No program is started for it: it would be measured, too.
agent_lives <- function(agent) {
  agent$live && agent$owner == Sys.getpid() && nzchar(agent$ticks) && identical(start_ticks(agent$agent_pid), agent$ticks)
}

# When a process was started; "" when it has ended.
start_ticks <- function(pid) {
  text <- suppressWarnings(tryCatch(readLines(paste0("/proc/", pid, "/stat"), warn = FALSE), error = function(e) ""))
  fields <- strsplit(sub("^.*\\) ", "", text[length(text)]), " ", fixed = TRUE)[[1L]]
  if (length(fields) < 20L || fields[1L] %in% c("Z", "X")) "" else fields[20L]
}

# Marks go to what was started last; commands that are started meanwhile see it in TACHO_RUN.
push_folder <- function(folder) {
  state$stack <- c(state$stack, list(list(folder = folder, before = Sys.getenv("TACHO_RUN", NA))))
  Sys.setenv(TACHO_RUN = folder)
}

pop_folder <- function(folder) {
  at <- which(vapply(state$stack, function(one) one$folder == folder, NA))
  if (!length(at)) return(invisible())
  before <- state$stack[[at]]$before
  state$stack[[at]] <- NULL
  if (Sys.getenv("TACHO_RUN") != folder) return(invisible())
  if (is.na(before)) Sys.unsetenv("TACHO_RUN") else Sys.setenv(TACHO_RUN = before)
}

tacho_track <- function(expr, name = NULL, interval = 1, store = NULL) {
  if (is_disabled()) return(list(value = expr, run = NULL))
  agent <- attach_agent(Sys.getpid(), interval, store_words(store), name)
  push_folder(agent$folder)
  on.exit({
    pop_folder(agent$folder)
    end_agent(agent)
  })
  value <- expr
  on.exit()
  pop_folder(agent$folder)
  end_agent(agent)
  list(value = value, run = new_run(agent$folder))
}

tacho_attach <- function(pid = Sys.getpid(), interval = 1) {
  if (is_disabled()) return(invisible(NULL))
  agent <- attach_agent(pid, interval)
  push_folder(agent$folder)
  stop_it <- function() {
    pop_folder(agent$folder)
    end_agent(agent)
    new_run(agent$folder)
  }
  structure(list(run = new_run(agent$folder), pid = pid, stop = stop_it, running = function() agent_lives(agent)),
            class = "tacho_attached")
}

print.tacho_attached <- function(x, ...) {
  cat("<tacho_attached ", basename(x$run$folder), "> process ", x$pid, if (x$running()) ", running; x$stop() ends it" else ", ended", "\n", sep = "")
  invisible(x)
}

mark <- function(words) {
  if (is_disabled() || !nzchar(Sys.getenv("TACHO_RUN"))) return(invisible(FALSE))
  invisible(tryCatch({
    ask(c("mark", words))
    TRUE
  }, tacho_refused = function(e) FALSE))
}

tacho_mark <- function(name) mark(c("--", one_text(name, "name")))

tacho_end <- function() mark("--end")
