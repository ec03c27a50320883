library(testthat)
library(tacho)

test_check("tacho")
