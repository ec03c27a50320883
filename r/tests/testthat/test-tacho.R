skip_without_program <- function() {
  found <- tryCatch(nzchar(tacho_program()), tacho_not_found = function(e) FALSE)
  if (!found) testthat::skip("there is no program tacho: set TACHO_BIN")
}

no_network <- function() {
  Sys.setenv(TACHO_NO_CLOUD = "1", TACHO_KEEPER_URL = "http://127.0.0.1:9")
}

test_that("a missing program is a condition of its own", {
  old <- Sys.getenv(c("TACHO_BIN", "PATH"))
  on.exit(Sys.setenv(TACHO_BIN = old[[1]], PATH = old[[2]]))
  Sys.setenv(TACHO_BIN = "", PATH = tempdir())
  expect_error(tacho_program(), class = "tacho_not_found")
  expect_error(tacho_run("true"), class = "tacho_not_found")
  Sys.setenv(TACHO_BIN = file.path(tempdir(), "none"))
  expect_error(tacho_program(), "is not there")
})

test_that("commands are recorded", {
  skip_without_program()
  store <- tempfile()
  run <- tacho_run("sh", c("-c", "sleep 0.3; exit 3 # 'a b'"), interval = 0.1, store = store)
  expect_s3_class(run, "tacho_run")
  expect_equal(run$status, 3L)
  figures <- summary(run)
  expect_equal(figures$exit_code, 3L)
  expect_true(figures$seconds >= 0.3)
  rows <- as.data.frame(run)
  expect_s3_class(rows$timestamp, "POSIXct")
  expect_true(nrow(rows) >= 2 && is.numeric(rows$process_memory_mib))
  expect_output(print(run), "failed")
  expect_error(tacho_run("no-such-program-here", store = store), class = "tacho_error")
  slow <- tacho_run("sleep", "30", timeout = 0.3, store = store)
  expect_false(slow$status == 0L)
  for (bad in list(0, -1, NaN, "x", NA, c(1, 2))) expect_error(tacho_run("true", interval = bad))
})

test_that("a command that is not recorded runs", {
  skip_without_program()
  old <- Sys.getenv(c("TACHO_DISABLE", "TACHO_STORE", "XDG_STATE_HOME", "_R_CHECK_PACKAGE_NAME_"), NA)
  on.exit(for (name in names(old)) if (is.na(old[[name]])) Sys.unsetenv(name) else do.call(Sys.setenv, as.list(old[name])))
  Sys.setenv(TACHO_DISABLE = "1")
  run <- tacho_run("sh", c("-c", "exit 3"))
  Sys.unsetenv(c("TACHO_DISABLE", "TACHO_STORE", "_R_CHECK_PACKAGE_NAME_"))
  expect_equal(run$status, 3L)
  expect_output(print(run), "not recorded, status 3")
  expect_true(is.na(summary(run)$cpu_seconds) && is.na(summary(run)$id))
  expect_error(as.data.frame(run), class = "tacho_refused")
  file <- tempfile()
  file.create(file)
  Sys.setenv(XDG_STATE_HOME = file)
  expect_warning(run <- tacho_run("sh", c("-c", "exit 4")), "not kept")
  expect_equal(run$status, 4L)
})

test_that("waiting starts no process", {
  skip_without_program()
  no_network()
  tracker <- ResourceTracker$new(interval = 0.1, discover_cloud = FALSE, discover_server = FALSE)
  tracker$wait_for_samples(4)
  expect_true(tracker$running)
  tracker$stop()
  expect_false(tracker$running)
  expect_true(sum(tracker$process_metrics$children > 0) <= 1) # stop() itself is asked of the program
})

test_that("expressions are recorded, and marks", {
  skip_without_program()
  store <- tempfile()
  done <- tacho_track({
    expect_true(tacho_mark("load, 'it'"))
    Sys.sleep(0.2)
    expect_true(tacho_end())
    7
  }, name = "seven", interval = 0.05, store = store)
  expect_equal(done$value, 7)
  expect_equal(summary(done$run)$state, "finished")
  expect_true(any(grepl("load", readLines(file.path(done$run$folder, "marks.csv")))))
  expect_equal(Sys.getenv("TACHO_RUN"), "")
  expect_false(tacho_mark("nowhere"))
  expect_null(tacho_track(NULL, store = store)$value)
  expect_error(tacho_track(stop("mine"), store = store), "mine")
  expect_equal(Sys.getenv("TACHO_RUN"), "")
})

test_that("runs are found again", {
  skip_without_program()
  old <- Sys.getenv(c("TACHO_STORE", "_R_CHECK_PACKAGE_NAME_"), NA)
  on.exit({
    if (is.na(old[[1]])) Sys.unsetenv("TACHO_STORE") else Sys.setenv(TACHO_STORE = old[[1]])
    if (!is.na(old[[2]])) Sys.setenv("_R_CHECK_PACKAGE_NAME_" = old[[2]])
  })
  Sys.setenv(TACHO_STORE = tempfile())
  Sys.unsetenv("_R_CHECK_PACKAGE_NAME_")
  expect_equal(nrow(tacho_runs()), 0L)
  run <- tacho_run("true")
  recorded <- tacho_attach(interval = 0.1)
  expect_true(recorded$running())
  last <- recorded$stop()
  expect_false(recorded$running())
  expect_equal(nrow(tacho_runs()), 2L)
  expect_equal(basename(tacho_load("last")$folder), basename(last$folder))
  expect_equal(tacho_load(run$folder)$folder, normalizePath(run$folder))
  expect_error(tacho_load("none-of-that-name"), class = "tacho_error")
})

test_that("ResourceTracker is as scripts know it", {
  skip_without_program()
  no_network()
  tracker <- ResourceTracker$new(interval = 0.1)
  expect_true(tracker$running)
  expect_equal(tracker$pid, Sys.getpid())
  expect_error(tracker$start(), "Resource tracker already running")
  tracker$wait_for_samples(1)
  expect_true(tracker$n_samples >= 1)
  expect_match(as.character(tracker$report()), "Pending")
  tracker$stop()
  tracker$stop()
  expect_false(tracker$running)
  for (frame in list(tracker$process_metrics, tracker$system_metrics, tracker$get_combined_metrics())) {
    expect_s3_class(frame, "data.frame")
    expect_s3_class(frame$timestamp, "POSIXct")
  }
  expect_equal(ncol(tracker$get_combined_metrics()), 32L)
  human <- names(tracker$get_combined_metrics(human_names = TRUE))
  expect_true(all(c("Timestamp", "Process CPU usage", "System used memory") %in% human))
  plain <- tracker$get_combined_metrics()
  expect_equal(tracker$get_combined_metrics(bytes = TRUE)$process_memory_mib, plain$process_memory_mib * 2^20)
  expect_true(tracker$stats()$process_memory_mib$max > 5)
  expect_equal(sort(names(tracker$recommend_resources())), c("cpu", "gpu", "memory", "vram"))
  expect_equal(tracker$recommend_server(), list())
  expect_named(tracker$server_info, c("os", "vcpus", "memory_mib", "gpu_count", "gpu_names", "gpu_name", "gpu_memory_mib", "allocation"))
  expect_true(tracker$server_info$allocation %in% c("shared", "dedicated"))
  expect_named(tracker$cloud_info, c("vendor", "instance_type", "region", "discovery_time"))
  page <- tracker$report()
  expect_match(as.character(page), "^<html>")
  expect_match(as.character(page), "from <code>R</code>")
  file <- tempfile(fileext = ".html")
  page$save(file)
  expect_true(file.size(file) > 1000)
})

test_that("GPUs are counted, over the driver of tacho's own tests", {
  skip_without_program()
  driver <- Sys.getenv("TACHO_TEST_NVML")
  if (!file.exists(driver)) skip("TACHO_TEST_NVML does not name the driver of the tests")
  machine <- tempfile()
  writeLines(sprintf("device name=H200 util=50 total=%.0f used=1048576", c(1000, 3000) * 2^20), machine)
  old <- Sys.getenv(c("TACHO_NVML_LIBRARY", "FAKE_NVML"), names = TRUE)
  on.exit(do.call(Sys.setenv, as.list(old)))
  Sys.setenv(TACHO_NVML_LIBRARY = driver, FAKE_NVML = machine)
  facts <- ResourceTracker$new(interval = 0.1, discover_cloud = FALSE)$server_info
  expect_equal(facts[c("gpu_count", "gpu_names", "gpu_name", "gpu_memory_mib")],
               list(gpu_count = 2L, gpu_names = c("H200", "H200"), gpu_name = "H200", gpu_memory_mib = 4000L))
})

test_that("a report before the first sample is one, too", {
  skip_without_program()
  no_network()
  tracker <- ResourceTracker$new(interval = 60)
  expect_equal(tracker$n_samples, 0L)
  expect_match(as.character(tracker$report()), "Pending")
  tracker$stop()
  expect_equal(tracker$n_samples, 1L)
})

test_that("the agent goes with its object", {
  skip_without_program()
  tracker <- ResourceTracker$new(interval = 0.1, discover_cloud = FALSE)
  pid <- environment(tracker$start)$private$agent$agent_pid
  expect_true(dir.exists(file.path("/proc", pid)))
  rm(tracker)
  gc()
  gone <- FALSE
  for (i in 1:100) {
    gone <- !dir.exists(file.path("/proc", pid))
    if (gone) break
    Sys.sleep(0.05)
  }
  expect_true(gone)
})
