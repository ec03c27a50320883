"""Every name of resource-tracker 0.5.0 that scripts and tests use, where they look for it, with its arguments and defaults."""
import importlib
import inspect
import logging
import subprocess
import sys

import pytest

import tacho.resource_tracker as rt

# Name: its arguments with their defaults, None for what is no function. A default that the original evaluated at import
# (process number, time) is None here and found out at the call.
NAMES = {
    "": {"ProcessTracker": None, "SystemTracker": None, "ResourceTracker": None, "get_cloud_info": "", "get_server_info": ""},
    "tracker": {
        "ProcessTracker": "pid=None start_time=None interval=1 children=True autostart=True output_file=None",
        "SystemTracker": "start_time=None interval=1 autostart=True output_file=None", "PidTracker": None,
        "ResourceTracker": "pid=None children=True interval=1 method=None autostart=False track_processes=True track_system=True "
                           "discover_server=True discover_cloud=True sentinel_token=None upload_interval=60 streaming_metadata=None",
        "ResourceTracker.start": "self", "ResourceTracker.stop": "self exit_code=0 run_status=<RunStatus.finished:'finished'>",
        "ResourceTracker.cleanup": "self", "ResourceTracker.__enter__": "self", "ResourceTracker.__exit__": "self kind error trace",
        "ResourceTracker.wait_for_samples": "self n=1 timeout=5", "ResourceTracker.stats": None,
        "ResourceTracker.get_combined_metrics": "self bytes=False human_names=False system_prefix=None process_prefix=None offset=None",
        "ResourceTracker.recommend_resources": "self historical_stats=()", "ResourceTracker.recommend_server": "self **kwargs",
        "ResourceTracker.report": "self integration='standalone' historical_stats=() status_failed=False integration_version=None",
        "ResourceTracker.snapshot": "self", "ResourceTracker.from_snapshot": "snapshot", "ResourceTracker.loads": "s",
        "ResourceTracker.load": "file", "ResourceTracker.dumps": "self", "ResourceTracker.dump": "self file",
        "ResourceTracker._update_combined_csv": "self",
        **{f"{name}.{method}": words for name in ("ProcessTracker", "SystemTracker")
           for method, words in (("diff_stats", "self"), ("start_tracking", "self output_file=None print_header=True"))}},
    "tracker_procfs": {"get_process_stats": "pid children=True", "get_system_stats": ""},
    "tracker_psutil": {"get_process_stats": "pid children=True", "get_system_stats": ""},
    "tiny_data_frame": {
        "StatSpec": "column agg agg_name=None round=None", "DictReader": None, "urlopen": None, "sleep": None,
        "TinyDataFrame": "data=None csv_file_path=None retries=0 retry_delay=0.1", "TinyDataFrame.head": "self n=5",
        "TinyDataFrame.tail": "self n=5", "TinyDataFrame.rename": "self columns", "TinyDataFrame.to_dict": "self",
        "TinyDataFrame.to_csv": "self csv_file_path=None quote_strings=True", "TinyDataFrame.stats": "self specs"},
    "helpers": {
        "aggregate_stats": "stats", "render_csv_row": "row quoting=2", "cleanup_files": None, "cleanup_processes": None,
        "is_partition": None, "is_psutil_available": "", "is_procfs_available": "", "get_tracker_implementation": "",
        "get_zfs_pools_space": ""},
    "report": {"Report": None, "Report.save": "self filepath", "Report.browse": "self", "round_memory": "mib"},
    "column_maps": dict.fromkeys(["HUMAN_NAMES_MAPPING", "BYTE_MAPPING", "SERVER_ALLOCATION_CHECKS", "REPORT_CSV_MAPPING"]),
    "keeper": {
        "keeper_request": "path timeout=2 endpoint='https://keeper.sparecores.net'",
        "get_instance_price": "vendor_id region_id instance_type",
        "get_recommended_cloud_servers": "cpu memory gpu=None vram=None n=10 **filters"},
    "cloud_info": {"get_cloud_info": ""},
    "server_info": {"get_server_info": "", "get_total_memory_mib": "", "get_gpu_info": ""},
    "sentinel_api": {
        "RunStatus": None, "DataSource": None, "SentinelAPIError": "status_code body", "_get_base_url": "", "urlopen": None,
        "register_run": "token metadata=None *, host_info=None cloud_info=None", "refresh_credentials": "token run_id",
        "finish_run": "token run_id *, exit_code=0 run_status=<RunStatus.finished:'finished'> data_source=<DataSource.s3:'s3'> "
                      "data_uris=None data_csv=None",
        "_request": "method path *, token payload=None base_url=None timeout=30 compress=False", "DEFAULT_SENTINEL_URL": None},
    "streaming": {
        "StreamingManager": "token csv_path=None upload_interval=60 metadata=None host_info=None cloud_info=None csv_update_fn=None",
        "StreamingManager.start": "self", "StreamingManager.stop": "self exit_code=0 run_status=<RunStatus.finished:'finished'>",
        "StreamingManager._upload_batch": "self", "StreamingManager._read_all_csv": "self", "_parse_expires_at": "text",
        "_read_new_bytes": "filepath offset until=None", "register_run": None, "refresh_credentials": None, "finish_run": None,
        "put_bytes_with_sts": None},
    "s3_upload": {
        "put_bytes_with_sts": "*, s3_uri body access_key secret_key session_token region=None timeout=30",
        "put_object_with_sts": "*, s3_uri file_path access_key secret_key session_token region=None timeout=30",
        "_parse_s3_uri": "s3_uri", "_derive_signing_key": None, "_hmac_sha256": None, "_sha256_hex": None, "urlopen": None},
    "tiny_bars": {"render_template": "template context", "_resolve_var": "name context", "_filter_pretty_number": "value digits=0"},
    "dummy_workloads": {"cpu_single": "duration=1", "cpu_multi": "duration=1 ncores=None"},
    "_version": {"__version__": None, "tacho_version": None},
}


def arguments(function):
    """`a b=1 *, c **d` of a function or a class."""
    words, keywords_alone = [], False
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.KEYWORD_ONLY and not keywords_alone:
            keywords_alone = True
            words.append("*,")
        stars = {one.VAR_KEYWORD: "**", one.VAR_POSITIONAL: "*"}.get(one.kind, "")
        words.append(stars + one.name + ("" if one.default is one.empty else "=" + repr(one.default).replace(": ", ":")))
    return " ".join(words)


@pytest.mark.parametrize("module", NAMES)
def test_names(module):
    home = importlib.import_module(f"tacho.resource_tracker.{module}" if module else "tacho.resource_tracker")
    wrong = {}
    for name, expected in NAMES[module].items():
        value = home
        for part in name.split("."):
            value = getattr(value, part, None)
        found = None if expected is None else arguments(value) if value is not None else "missing"
        if value is None or found != expected:
            wrong[name] = found
    assert not wrong


def test_members():
    t = rt.ResourceTracker(discover_cloud=False)
    for name in ("pid children interval method autostart trackers discover_server discover_cloud error_queue running n_samples process_metrics "
                 "system_metrics server_info cloud_info sentinel_result _streaming _combined_csv_rows_written _combined_csv_filepath").split():
        assert hasattr(t, name), name
    assert not hasattr(t, "start_time") and not hasattr(t, "stop_time")  # not before start()
    manager = importlib.import_module("tacho.resource_tracker.streaming").StreamingManager("tok")
    for name in "is_alive run_id uploaded_uris _stop_event _thread _uploaded_uris _csv_offset _seq".split():
        assert hasattr(manager, name), name
    process = rt.ProcessTracker(autostart=False)
    assert (process.status, process.cycle) == ("running", 0) and process.stats["pid"] == process.pid


def test_package():
    assert rt.__all__ == ["ProcessTracker", "SystemTracker", "ResourceTracker", "get_cloud_info", "get_server_info"]
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("resource_tracker").handlers)
    assert importlib.import_module("tacho.resource_tracker._version").__version__ == "0.5.0"


def test_enums():
    api = importlib.import_module("tacho.resource_tracker.sentinel_api")
    assert [one.name for one in api.RunStatus] == ["finished", "failed"] and [one.name for one in api.DataSource] == ["s3", "inline"]
    assert issubclass(importlib.import_module("tacho.resource_tracker.report").Report, str)


def test_every_module_is_installed():
    """As the name that scripts import, and the same object, so that what is patched there has effect."""
    done = subprocess.run([sys.executable, "-c", f"""
import importlib, tacho.resource_tracker as rt
rt.install()
for name in {[name for name in NAMES if name]}:
    assert importlib.import_module("resource_tracker." + name) is importlib.import_module("tacho.resource_tracker." + name), name
    assert getattr(importlib.import_module("resource_tracker"), name) is importlib.import_module("resource_tracker." + name), name
"""], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
