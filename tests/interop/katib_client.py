"""A foreign client of the DBManager service: grpcio with code generated from proto/, run by katib.py in a Python of its own.
katib_client.py ADDRESS < one JSON command a line; prints one JSON answer a line."""
import json
import sys

import grpc
import health_pb2
import health_pb2_grpc
import katib_pb2
import katib_pb2_grpc
from google.protobuf.json_format import MessageToDict
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1), ("grpc.enable_http_proxy", 0)]
channel = grpc.insecure_channel(sys.argv[1], options=UNLIMITED)
manager = katib_pb2_grpc.DBManagerStub(channel)
health = health_pb2_grpc.HealthStub(channel)


def log_of(rows):
    """Rows as [time, name, value]; [time] has no metric."""
    log = katib_pb2.ObservationLog()
    for time, *metric in rows:
        row = log.metric_logs.add(time_stamp=time)
        if metric:
            row.metric.name, row.metric.value = metric
    return log


def report(trial, rows):
    manager.ReportObservationLog(katib_pb2.ReportObservationLogRequest(trial_name=trial, observation_log=log_of(rows)), timeout=120)


def report_many(trial, count):
    report(trial, ((f"2026-11-15T09:{i // 60 % 60:02}:{i % 60:02}.{i % 1000000:06}Z", "loss", str(i)) for i in range(count)))


def get(trial, metric="", start="", end=""):
    reply = manager.GetObservationLog(katib_pb2.GetObservationLogRequest(trial_name=trial, metric_name=metric, start_time=start, end_time=end), timeout=120)
    return [[row.time_stamp, row.metric.name, row.metric.value] for row in reply.observation_log.metric_logs]


def delete(trial):
    manager.DeleteObservationLog(katib_pb2.DeleteObservationLogRequest(trial_name=trial), timeout=60)


def check(service=""):
    return MessageToDict(health.Check(health_pb2.HealthCheckRequest(service=service), timeout=60))["status"]


def reflect():
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    asked = reflection_pb2.ServerReflectionRequest(list_services="")
    symbol = reflection_pb2.ServerReflectionRequest(file_containing_symbol="api.v1.beta1.DBManager")
    answers = list(stub.ServerReflectionInfo(iter([asked, symbol]), timeout=60))
    return [sorted(service.name for service in answers[0].list_services_response.service), len(answers[1].file_descriptor_response.file_descriptor_proto)]


for line in sys.stdin:
    name, *arguments = json.loads(line)
    try:
        answer = {"ok": globals()[name](*arguments)}
    except grpc.RpcError as error:
        answer = {"code": error.code().name, "text": error.details()}
    print(json.dumps(answer), flush=True)
