"""The report: one HTML page that shows what a run certifies and where it comes from, sealed, without a network."""

from pacopt.report.page import report_html, write_report
from pacopt.report.seal import REPORT, report_problem

__all__ = ["REPORT", "report_html", "report_problem", "write_report"]
