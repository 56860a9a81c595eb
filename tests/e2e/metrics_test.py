#!/usr/bin/env python3
"""Metrics as others read them: Prometheus, promtool, the queries of the dashboard, and the job map of dcgm-exporter."""

import contextlib
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import socketserver
import subprocess
import threading
import unittest
import urllib.error
import urllib.parse
import urllib.request

import cli
import server

ROOT = pathlib.Path(__file__).resolve().parents[2]
MONITORING = ROOT / "packaging" / "monitoring"
RULES = MONITORING / "prometheus-alerts.yml"
DASHBOARD = MONITORING / "grafana-dashboard.json"
RULE_TESTS = pathlib.Path(__file__).parent / "data" / "alerts.yml"
PAGE = ROOT / "docs" / "metrics.md"
ANY = {"$__rate_interval": "1m", "$instance": ".*", "$gpu": ".*", "$user": ".*", "$job": ".*"}

needs_prometheus = unittest.skipUnless(shutil.which("prometheus") and shutil.which("promtool"),
                                       "Debian's package prometheus is not installed")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Forwarder(socketserver.ThreadingTCPServer):
    """Passes scrapes on from TCP to the server's socket, which Prometheus cannot open."""

    daemon_threads = True

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            connection = server.UnixConnection(self.server.path)
            with contextlib.closing(connection):
                connection.request("GET", self.path)
                answer = connection.getresponse()
                body = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.getheader("Content-Type"))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    def __init__(self, path):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.path = path
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()


def dashboard_queries():
    """Title of the panel and query, with "all" for each variable."""
    dashboard = json.loads(DASHBOARD.read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            query = target["expr"]
            for variable, value in ANY.items():
                query = query.replace(variable, value)
            yield panel["title"], query
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            selector = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])
            query = f"count by ({selector[2]}) ({selector[1]})"
            yield variable["name"], query.replace("$instance", ".*")


class MetricsTest(server.ServerTest):
    def metrics(self):
        status, page = self.request("GET", "/metrics")
        self.assertEqual(status, 200)
        return page.decode()

    def start_job(self, name):
        """A job on GPU 0, and the PID of its process."""
        pid_file = self.folder / f"{len(list(self.folder.glob('*.pid')))}.pid"
        job = self.submit("--name", name, "--mem", "1G", "--", "sh", "-c",
                          f'echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; exec sleep 600')
        server.until(pid_file.exists, "the job to run")
        return job, int(pid_file.read_text())

    def two_jobs_compute(self):
        jobs = dict(self.start_job(name) for name in ('with "quotes"\\', "second"))
        settings = "gpus = 2\nmemory_used = 2000000000\necc_corrected = 2\nxids = 31 79\nclock_reasons = 0x4\n"
        for gpu in (0, 1):
            there = [pid for job, pid in jobs.items() if gpu in self.job(job)["attempts"][-1]["gpus"]]
            settings += f"gpu{gpu}.processes = {' '.join(f'{pid}:1000000000' for pid in there)}\n"
            settings += f"gpu{gpu}.sm_of = {' '.join(f'{pid}:35' for pid in there)}\n"
        self.change_gpus(settings)
        server.until(lambda: self.metrics().count("\ncarpool_job_sm_active_ratio{") >= 2, "activity of both jobs")
        return jobs


class Page(MetricsTest):
    def test_has_every_sensor_of_the_driver_and_the_documented_names_only(self):
        self.start("--dcgm-names")
        jobs = self.two_jobs_compute()
        server.until(lambda: 'carpool_gpu_last_xid{gpu="0"} 79' in self.metrics(), "the errors")
        page = self.metrics()
        for line in ('carpool_gpu_power_watts{gpu="0"} 412.5', 'carpool_gpu_temperature_celsius{gpu="1"} 45',
                     'carpool_gpu_throttled{gpu="0",reason="power-cap"} 1',
                     'carpool_gpu_throttled{gpu="0",reason="thermal"} 0',
                     'carpool_gpu_ecc_errors_total{gpu="1",kind="corrected"} 2',
                     'carpool_gpu_xid_errors_total{gpu="0"} 2', 'carpool_jobs_without_series 0'):
            self.assertIn(line, page.splitlines())
        for job in jobs:
            self.assertRegex(page, rf'carpool_job_sm_active_ratio\{{job_id="{job}",gpu="\d"\}} 0.35')
        self.assertIn(r'name="with \"quotes\"\\"', page)
        self.assertRegex(page, r'DCGM_FI_DEV_POWER_USAGE\{gpu="0",UUID="GPU-fake-[^"]*",pci_bus_id="[^"]+",'
                               r'device="nvidia0",modelName="Fake H200",Hostname="[^"]+"\} 412.5')
        documented = dict(re.findall(r"^\| `(\w+)(?:\{[^}]*\})?` \| (\w+) \|", PAGE.read_text(), re.MULTILINE))
        self.assertEqual(dict(re.findall(r"^# TYPE (\w+) (\w+)$", page, re.MULTILINE)), documented)

    def test_leaves_out_what_the_driver_does_not_report(self):
        self.change_gpus("gpus = 2\nmemory_used = 0\nprocesses =\nfail.nvmlDeviceGetPowerUsage = 3\n"
                         "fail.nvmlDeviceGetTotalEnergyConsumption = 3\nfail.nvmlDeviceGetTotalEccErrors = 3\n"
                         "fail.nvmlDeviceRegisterEvents = 3\nfail.nvmlDeviceGetTemperature = 3\n"
                         "fail.nvmlDeviceGetCurrentClocksEventReasons = 3\n")
        self.start()
        server.until(lambda: "\ncarpool_gpu_info{" in self.metrics(), "a reading of the GPUs")
        page = self.metrics()
        for name in ("power_watts", "energy_joules_total", "ecc_errors_total", "xid_errors_total", "last_xid",
                     "temperature_celsius", "throttled"):
            self.assertNotIn(f"\ncarpool_gpu_{name}{{", page)
        self.assertNotIn("DCGM_", page)


class JobMap(MetricsTest):
    def setUp(self):
        super().setUp()
        self.map = self.folder / "job-map"

    def files(self):
        return {file.name: file.read_text() for file in self.map.iterdir() if file.name.isdigit()}

    def test_tells_the_jobs_of_each_gpu_and_is_removed_at_the_end(self):
        self.start("--dcgm-job-map", str(self.map))
        self.assertEqual(self.files(), {"0": "", "1": ""})
        job, _ = self.start_job("one")
        server.until(lambda: f"{job}\n" in self.files().values(), "the job in the map")
        self.assertEqual((self.map / "0").stat().st_mode & 0o777, 0o644)
        self.succeeds("cancel", job)
        self.await_end(job)
        server.until(lambda: set(self.files().values()) == {""}, "an empty map")
        self.stop_server()
        self.assertEqual(list(self.map.iterdir()), [])

    def test_of_a_killed_server_is_removed_by_the_next(self):
        self.start("--dcgm-job-map", str(self.map))
        self.write("job-map/7", "of another scheduler\n")
        self.kill_server()
        self.change_gpus("gpus = 1\nmemory_used = 0\nprocesses =\n")
        self.start("--dcgm-job-map", str(self.map))
        self.assertEqual(self.files(), {"0": "", "7": "of another scheduler\n"})

    def test_is_refused_where_others_may_write(self):
        self.map.mkdir()
        os.chmod(self.map, 0o777)
        self.refuses("serve", "--state", self.state, "--dcgm-job-map", self.map, says="mode 0755")
        self.refuses("serve", "--simulated", "1xA100-40", "--dcgm-job-map", self.map, says="--simulated")
        self.refuses("serve", "--simulated", "1xA100-40", "--dcgm-names", says="--simulated")


@needs_prometheus
class Rules(cli.CarpoolTest):
    def promtool(self, *arguments):
        done = subprocess.run(["promtool", *map(str, arguments)], cwd=self.folder, text=True, capture_output=True,
                              timeout=server.PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_are_sound_and_fire_when_they_should(self):
        shutil.copy(RULES, self.folder)
        shutil.copy(RULE_TESTS, self.folder)
        self.promtool("check", "rules", "--lint-fatal", RULES.name)
        self.promtool("test", "rules", RULE_TESTS.name)
        for alert in re.findall(r"- alert: (\w+)", RULES.read_text()):
            self.assertIn(f'alertname="{alert}"', RULE_TESTS.read_text(), "an alert without a test")

    def test_and_dashboard_use_metrics_that_exist(self):
        documented = set(re.findall(r"^\| `(carpool_\w+)", PAGE.read_text(), re.MULTILINE))
        queries = [query for _, query in dashboard_queries()] + re.findall(r"expr: (.*)", RULES.read_text())
        used = {re.sub("_bucket$", "", name) for query in queries for name in re.findall(r"carpool_\w+", query)}
        self.assertLessEqual(used, documented)


@needs_prometheus
class RealPrometheus(MetricsTest):
    def start_prometheus(self, target):
        config = self.write("prometheus.yml", json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "carpool", "static_configs": [{"targets": [target]}]}]}))
        self.prometheus = f"127.0.0.1:{free_port()}"
        log = open(self.folder / "prometheus.log", "wb")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder}/tsdb",
             f"--web.listen-address={self.prometheus}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        server.until(self.is_ready, "Prometheus to be ready")

    def is_ready(self):
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://{self.prometheus}/-/ready", timeout=server.PATIENCE_S) as answer:
                return answer.status == 200
        return False

    def ask(self, path, **parameters):
        address = f"http://{self.prometheus}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(address, timeout=server.PATIENCE_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as problem:
            return json.load(problem)

    def series(self, query):
        answer = self.ask("query", query=query)
        self.assertEqual(answer["status"], "success", f"{query}: {answer}")
        self.assertFalse(answer.get("warnings"), query)
        return answer["data"]["result"]

    def scraped(self, least):
        found = self.series("sum_over_time(up[1h])")
        return bool(found) and float(found[0]["value"][1]) >= least

    def test_scrapes_a_server_and_answers_every_query_of_the_dashboard(self):
        self.start("--dcgm-names")
        forwarder = Forwarder(self.socket)
        self.addCleanup(forwarder.end)
        self.await_end(self.submit("--mem", "1G", "--", "true"))
        jobs = self.two_jobs_compute()
        self.start_prometheus(f"127.0.0.1:{forwarder.server_address[1]}")
        server.until(lambda: self.series("carpool_gpu_sm_active_ratio"), "a scrape of a window of activity")
        server.until(lambda: self.scraped(3), "three scrapes")
        health = self.ask("targets")["data"]["activeTargets"]
        self.assertEqual([(one["health"], one["lastError"]) for one in health], [("up", "")])
        # Speeds are known of jobs that share where the policy predicts them.
        may_be_empty = {"Speed of jobs, predicted and believed"}
        for title, query in dashboard_queries():
            with self.subTest(panel=title, query=query):
                found = self.series(query)
                self.assertTrue(found or title in may_be_empty, "no series")
        by_job = {one["metric"]["job_id"]: one["metric"]["name"] for one in self.series(
            'carpool_job_memory_bytes{kind="used"} * on (instance, job_id) group_left (name, user) carpool_job_info')}
        self.assertEqual(set(by_job), {str(job) for job in jobs})
        self.assertIn('with "quotes"\\', by_job.values())
        self.assertEqual(len(self.series("DCGM_FI_DEV_GPU_UTIL")), 2)
        rules = self.ask("rules")["data"]["groups"]
        self.assertEqual({rule["health"] for group in rules for rule in group["rules"]} - {"unknown"}, {"ok"})


if __name__ == "__main__":
    unittest.main()
