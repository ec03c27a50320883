# A recorded run: its folder, read when it is asked. NULL: a command that ran and was not recorded.

new_run <- function(folder, status = NULL) structure(list(folder = folder, status = status), class = "tacho_run")

run_info <- function(run) {
  if (is.null(run$folder)) return(list())
  read <- function() jsonlite::fromJSON(file.path(run$folder, "run.json"), simplifyVector = FALSE)
  info <- tryCatch(read(), error = function(e) fail("tacho_refused", run$folder, " cannot be read: ", conditionMessage(e)))
  # While it goes on, or when who recorded it is gone, the program knows more.
  if (identical(info$state, "running")) {
    info <- tryCatch(ask_json(c("show", run$folder, "--json")), tacho_error = function(e) info)
  }
  info
}

# The rows; a torn last line is left out.
read_rows <- function(folder) {
  if (is.null(folder)) fail("tacho_refused", "there are no rows: it was not recorded")
  path <- file.path(folder, "metrics.csv")
  if (!file.exists(path)) fail("tacho_refused", "there are no rows: ", path)
  text <- readLines(path, warn = FALSE)
  if (length(text) && !ends_with_newline(path)) text <- text[-length(text)]
  if (!length(text)) return(data.frame(timestamp = as.POSIXct(numeric(), origin = "1970-01-01", tz = "UTC")))
  rows <- utils::read.csv(text = text, check.names = FALSE, na.strings = "", colClasses = "numeric")
  rows$timestamp <- as.POSIXct(rows$timestamp, origin = "1970-01-01", tz = "UTC")
  rows
}

ends_with_newline <- function(path) {
  file <- file(path, "rb")
  on.exit(close(file))
  seek(file, max(0, file.size(path) - 1))
  identical(readBin(file, "raw", 1L), as.raw(10L))
}

`%or%` <- function(a, b) if (is.null(a)) b else a

number <- function(value) if (is.null(value)) NA_real_ else as.numeric(value)

summary.tacho_run <- function(object, ...) {
  info <- run_info(object)
  totals <- info$totals
  stats <- info$statistics
  peak <- number(totals$memory_peak_bytes) / 2^20
  cpu <- c(number(totals$cpu_user_s), number(totals$cpu_system_s))
  if (all(is.na(cpu))) cpu <- c(number(stats$process_utime$sum), number(stats$process_stime$sum))
  list(id = basename(object$folder %or% NA_character_), state = info$state %or% NA_character_,
       exit_code = info$outcome$exit_code %or% NA_integer_, seconds = number(info$outcome$duration_s),
       cpu_seconds = if (all(is.na(cpu))) NA_real_ else sum(cpu, na.rm = TRUE),
       cpu_mean = number(stats$process_cpu_usage$mean),
       memory_peak_mib = if (is.na(peak)) number(stats$process_memory_mib$max) else peak,
       disk_read_bytes = number(totals$io_read_bytes %or% stats$process_disk_read_bytes$sum),
       disk_written_bytes = number(totals$io_write_bytes %or% stats$process_disk_write_bytes$sum),
       net_recv_bytes = number(stats$system_net_recv_bytes$sum), net_sent_bytes = number(stats$system_net_sent_bytes$sum),
       gpu_mean = number(stats$process_gpu_usage$mean), gpu_memory_peak_mib = number(stats$process_gpu_vram_mib$max),
       samples = number(info$samples), method = info$method)
}

print.tacho_run <- function(x, ...) {
  if (is.null(x$folder)) {
    cat("<tacho_run> not recorded, status ", x$status, "\n", sep = "")
    return(invisible(x))
  }
  s <- summary(x)
  text <- function(value, digits, unit) if (is.na(value)) "unknown" else paste0(format(round(value, digits), nsmall = 0L), unit)
  cat("<tacho_run ", s$id, "> ", s$state, ", ", text(s$seconds, 3L, " s"), ", CPU ", text(s$cpu_seconds, 3L, " s"),
      ", peak memory ", text(s$memory_peak_mib, 1L, " MiB"), "\n", sep = "")
  invisible(x)
}

as.data.frame.tacho_run <- function(x, row.names = NULL, optional = FALSE, ...) {
  rows <- read_rows(x$folder)
  if (!is.null(row.names)) rownames(rows) <- row.names
  rows
}

tacho_load <- function(run = "last") {
  if (inherits(run, "tacho_run")) return(run)
  run <- one_text(run, "run")
  if (file.exists(file.path(run, "run.json"))) return(new_run(normalizePath(run)))
  if (startsWith(run, "-") || grepl("/", run, fixed = TRUE)) fail("tacho_refused", "there is no run ", run)
  new_run(ask(c("show", "--path", run, store_words(NULL))))
}

tacho_runs <- function() {
  infos <- ask_json(c("runs", "--json", store_words(NULL)))
  column <- function(read, empty) vapply(infos, function(info) read(info) %or% empty, empty)
  started <- column(function(info) info$outcome$started_at, NA_character_)
  data.frame(id = column(function(info) info$id, NA_character_), state = column(function(info) info$state, NA_character_),
             started = as.POSIXct(started, format = "%Y-%m-%dT%H:%M:%OSZ", tz = "UTC"),
             seconds = column(function(info) number(info$outcome$duration_s), NA_real_),
             exit_code = column(function(info) number(info$outcome$exit_code), NA_real_),
             job = column(function(info) info$metadata$job_name, NA_character_), stringsAsFactors = FALSE)
}
