"""A report: one HTML file that shows traces live and explains them, wherever it is opened, without a network."""

from causalviz.report.page import Made, Texts, report_html

__all__ = ["Made", "Texts", "report_html"]
